# Reference fits of the mixed models on the released study: writes mixed.json.
#   Rscript mixed.R TRIALS.csv
# TRIALS.csv holds the 957 retained trials: tests.analysis.trials.released_trials(folder).to_csv(path).
suppressPackageStartupMessages({
  library(lme4)
  library(ordinal)
})
d <- read.csv(commandArgs(trailingOnly = TRUE)[1])
d$c <- factor(d$condition, levels = c("Qi-2019", "Select & Forget", "regularized", "ground truth"))
d$p <- factor(d$participant_id)
d$item <- factor(d$item_id)
d$rated_correct <- as.integer(d$rated_correct)

row_of <- function(outcome, random, fit) {
  table <- coef(summary(fit))
  kept <- grep("^c|^position", rownames(table))
  spreads <- if (isS4(fit)) sqrt(unlist(VarCorr(fit))) else sapply(VarCorr(fit), function(v) sqrt(v[1]))
  list(outcome = outcome, random = random, terms = sub("^c", "", rownames(table)[kept]),
       estimate = table[kept, 1], standard_error = table[kept, 2], log_likelihood = as.numeric(logLik(fit)),
       spreads = as.list(spreads))
}
rows <- list()
for (random in c("(1 | p) + (1 | item)", "(1 | p) + (1 | item) + (1 | item:c)")) {
  formula <- as.formula(paste("rated_correct ~ c +", random))
  control <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-10)
  rows <- c(rows, list(row_of("rated_correct", random, glmer(formula, d, family = binomial, control = control))))
  for (outcome in c("certainty", "helpfulness")) {
    d$r <- factor(d[[outcome]], ordered = TRUE)
    rows <- c(rows, list(row_of(outcome, random, clmm(as.formula(paste("r ~ c +", random)), data = d))))
  }
}
d$r <- factor(d$certainty, ordered = TRUE)
within <- "(1 | p) + (1 | item)"
rows <- c(rows, list(row_of("certainty", paste(within, "+ position"),
                            clmm(as.formula(paste("r ~ c + position +", within)), data = d))))
versions <- paste0("R ", getRversion(), ", lme4 ", packageVersion("lme4"), ", ordinal ", packageVersion("ordinal"))
jsonlite::write_json(list(software = versions, command = "Rscript mixed.R TRIALS.csv", fits = rows), "mixed.json",
                     digits = 8, auto_unbox = TRUE, pretty = TRUE)
