# Refits the models of trials with lme4 and ordinal.
#   Rscript refit.R FOLDER [ESTIMATES.csv]
# FOLDER is the bundle; trials.csv and participants.csv are read. In Debian the two packages are r-cran-lme4
# and r-cran-ordinal. One row is written per model and term; `message` says what a fit complained of. Without
# a second argument the file lies in the bundle, where the next report reads it.

# Names of conditions may hold any letter; R writes them only in a locale that has it.
suppressWarnings(invisible(Sys.setlocale("LC_CTYPE", "C.UTF-8")))
suppressPackageStartupMessages({
  library(lme4)
  library(ordinal)
})

arguments <- commandArgs(trailingOnly = TRUE)
folder <- if (length(arguments) > 0) arguments[1] else "."
target <- if (length(arguments) > 1) arguments[2] else file.path(folder, "r_estimates.csv")

read_table <- function(name) {
  read.csv(file.path(folder, name), na.strings = "", check.names = FALSE, colClasses = "character",
           encoding = "UTF-8")
}
holds <- function(test) !is.na(test) & test

trials <- read_table("trials.csv")
people <- read_table("participants.csv")

# Submitted trials of one mode and version, without participants who withdrew.
conditions <- c({{ conditions }})
answers <- c({{ answers }})
trials <- trials[trials$mode == {{ mode }} & trials$version == {{ version }}, ]
withdrawn <- people$participant_id[holds(people$status == "withdrawn")]
trials <- trials[!(trials$participant_id %in% withdrawn), ]
given <- rowSums(!is.na(trials[, answers, drop = FALSE])) > 0
if ("submitted_at" %in% names(trials)) given <- given | !is.na(trials$submitted_at)
trials <- trials[given & trials$condition %in% conditions, ]
trials$condition <- factor(trials$condition, levels = conditions)
trials$participant_id <- factor(trials$participant_id)
trials$item_id <- factor(trials$item_id)
trials$position <- if ("position" %in% names(trials)) as.numeric(trials$position) else NA

# Exclusion rules; a missing time or answer excludes nothing.
excluded <- rep(FALSE, nrow(trials))
{% for name, test in exclusions %}
# {{ name }}
excluded <- excluded | holds({{ test }})
{% endfor %}
cat(sum(excluded), "of", nrow(trials), "trials excluded\n")
trials <- trials[!excluded, ]

estimates <- NULL
add <- function(model, outcome, fit) {
  rows <- tryCatch({
    warned <- character(0)
    fitted <- withCallingHandlers(fit(), warning = function(w) {
      warned <<- c(warned, conditionMessage(w))
      invokeRestart("muffleWarning")
    })
    table <- coef(summary(fitted))
    own <- if (isS4(fitted)) unlist(fitted@optinfo$conv$lme4$messages) else character(0)
    said <- paste(unique(c(warned, own)), collapse = "; ")
    data.frame(model = model, outcome = outcome, term = rownames(table), estimate = table[, 1],
               standard_error = table[, 2], trials = nobs(fitted),
               log_likelihood = as.numeric(logLik(fitted)), message = said)
  }, error = function(e) {
    data.frame(model = model, outcome = outcome, term = NA, estimate = NA, standard_error = NA, trials = NA,
               log_likelihood = NA, message = conditionMessage(e))
  })
  estimates <<- rbind(estimates, rows)
}

# Participants who saw several conditions may differ in what a condition does to them, and these models adjust
# for the position; items that were seen in several conditions may favour one.
several <- function(by) {
  any(tapply(as.character(trials$condition), by, function(seen) length(unique(seen)) > 1))
}
repeated <- several(trials$participant_id)
model_of <- function(left, used) {
  text <- paste(left, "~ condition + (1 | participant_id) + (1 | item_id)")
  if (several(trials$item_id)) text <- paste(text, "+ (1 | item_id:condition)")
  if (repeated) text <- paste(text, "+ (1 | participant_id:condition)")
  if ((repeated || left == "log_seconds") && !anyNA(used$position)) text <- paste(text, "+ position")
  as.formula(text, env = globalenv())
}

fit_time <- function(column) add("lmer", column, function() {
  used <- trials[holds(as.numeric(trials[[column]]) > 0), ]
  used$log_seconds <- log(as.numeric(used[[column]]) / 1000)
  lmer(model_of("log_seconds", used), data = droplevels(used), REML = TRUE)
})
fit_yes_no <- function(name, answer) add("glmer", name, function() {
  used <- trials[!is.na(answer), ]
  used$answer <- as.integer(answer[!is.na(answer)])
  glmer(model_of("answer", used), data = droplevels(used), family = binomial,
        control = glmerControl(optimizer = "bobyqa"))
})
fit_points <- function(column) add("clmm", column, function() {
  used <- trials[!is.na(trials[[column]]), ]
  used$rating <- factor(as.numeric(used[[column]]), ordered = TRUE)
  clmm(model_of("rating", used), data = droplevels(used))
})

{% for call in calls %}
{{ call }}
{% endfor %}

options(width = 200)
estimates$script <- "{{ fingerprint }}"  # the report shows no estimates of another script or other data
print(estimates[names(estimates) != "script"], row.names = FALSE)
write.csv(estimates, target, row.names = FALSE, na = "", fileEncoding = "UTF-8")
