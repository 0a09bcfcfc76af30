"""R script that reads a bundle and refits its models, as a check.

The script uses lme4 and ordinal. Source: Bates, Mächler, Bolker and Walker 2015 (lme4); Christensen 2022
(ordinal). It is plain ASCII and the same for the same bundle, mode, version and clock.
"""

from collections.abc import Sequence

from ..participants.bundle import Points, Question, Version
from ..participants.exclusion_rules import (
    CLOCK_COLUMNS,
    Answered,
    AnsweredNumber,
    Clock,
    Flagged,
    MaxTime,
    MinTime,
    Rule,
)

_HEAD = """\
# Refits the models of trials with lme4 and ordinal.
#   Rscript {name} FOLDER [ESTIMATES.csv]
# FOLDER is the bundle; trials.csv and participants.csv are read. In Debian the two packages are r-cran-lme4
# and r-cran-ordinal. One row is written per model and term; `message` says what a fit complained of.

# Names of conditions may hold any letter; R writes them only in a locale that has it.
suppressWarnings(invisible(Sys.setlocale("LC_CTYPE", "C.UTF-8")))
suppressPackageStartupMessages({{
  library(lme4)
  library(ordinal)
}})

arguments <- commandArgs(trailingOnly = TRUE)
folder <- if (length(arguments) > 0) arguments[1] else "."
target <- if (length(arguments) > 1) arguments[2] else "r_estimates.csv"

read_table <- function(name) {{
  read.csv(file.path(folder, name), na.strings = "", check.names = FALSE, colClasses = "character",
           encoding = "UTF-8")
}}
holds <- function(test) !is.na(test) & test

trials <- read_table("trials.csv")
people <- read_table("participants.csv")
"""

_FITS = """\
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
               standard_error = table[, 2], trials = nobs(fitted), message = said)
  }, error = function(e) {
    data.frame(model = model, outcome = outcome, term = NA, estimate = NA, standard_error = NA, trials = NA,
               message = conditionMessage(e))
  })
  estimates <<- rbind(estimates, rows)
}

# Participants who saw several conditions may differ in what a condition does to them.
repeated <- any(tapply(as.character(trials$condition), trials$participant_id,
                       function(seen) length(unique(seen)) > 1))
model_of <- function(text) {
  as.formula(paste(text, if (repeated) "+ (1 | participant_id:condition)" else ""), env = globalenv())
}

fit_time <- function(column) add("lmer", column, function() {
  used <- trials[holds(as.numeric(trials[[column]]) > 0) & !is.na(trials$position), ]
  used$log_seconds <- log(as.numeric(used[[column]]) / 1000)
  lmer(model_of("log_seconds ~ condition + position + (1 | participant_id) + (1 | item_id) +
         (1 | item_id:condition)"), data = droplevels(used), REML = TRUE)
})
fit_yes_no <- function(name, answer) add("glmer", name, function() {
  used <- trials[!is.na(answer), ]
  used$answer <- as.integer(answer[!is.na(answer)])
  glmer(model_of("answer ~ condition + (1 | participant_id) + (1 | item_id)"), data = droplevels(used),
        family = binomial, control = glmerControl(optimizer = "bobyqa"))
})
fit_points <- function(column) add("clmm", column, function() {
  used <- trials[!is.na(trials[[column]]), ]
  used$rating <- factor(as.numeric(used[[column]]), ordered = TRUE)
  clmm(model_of("rating ~ condition + (1 | participant_id) + (1 | item_id)"), data = droplevels(used))
})
"""

_TAIL = """\
options(width = 200)
print(estimates, row.names = FALSE)
write.csv(estimates, target, row.names = FALSE, na = "", fileEncoding = "UTF-8")
"""


def r_script(
    version: Version,
    rules: Sequence[Rule],
    *,
    mode: str,
    clock: Clock | None,
    name: str = "refit.R",
) -> str:
    """The text of the script for one mode and version of a study.

    version: gives conditions, in order, the first as the reference, and questions. rules: of exclusion, as in
    the bundle. clock: whose time is modelled, None for no model of time. name: of the file, for its own help.

    Times get a linear mixed model of their logarithm, yes-no questions and whether the rating was right a
    logistic one, ratings a cumulative logit one; participants and items are crossed random effects in all,
    and participants within conditions where any saw several.
    """
    parts = [
        _HEAD.format(name=name),
        _selection(version, mode),
        _exclusions(rules),
        _FITS,
        _calls(version, clock),
        _TAIL,
    ]
    return "\n".join(parts)


def quoted(text: str) -> str:
    r"""Return the text as an R string in ASCII.

    Examples:
        >>> quoted('na\u00efve "1"')
        '"na\\u00efve \\"1\\""'
    """
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    code = ord(character)
    if character in '"\\':
        return "\\" + character
    if 32 <= code < 127:
        return character
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _selection(version: Version, mode: str) -> str:
    names = ", ".join(quoted(condition.name) for condition in version.conditions)
    answers = ", ".join(quoted(question.key) for question in version.item_questionnaire)
    return f"""\
# Submitted trials of one mode and version, without participants who withdrew.
conditions <- c({names})
answers <- c({answers})
trials <- trials[trials$mode == {quoted(mode)} & trials$version == {quoted(str(version.version))}, ]
withdrawn <- people$participant_id[holds(people$status == "withdrawn")]
trials <- trials[!(trials$participant_id %in% withdrawn), ]
given <- rowSums(!is.na(trials[, answers, drop = FALSE])) > 0
if ("submitted_at" %in% names(trials)) given <- given | !is.na(trials$submitted_at)
trials <- trials[given & trials$condition %in% conditions, ]
trials$condition <- factor(trials$condition, levels = conditions)
trials$position <- if ("position" %in% names(trials)) as.numeric(trials$position) else NA
"""


def _exclusions(rules: Sequence[Rule]) -> str:
    lines = ["# Exclusion rules; a missing time or answer excludes nothing."]
    lines += ["excluded <- rep(FALSE, nrow(trials))"]
    for rule in rules:
        lines.append(f"# {quoted(rule.name)}")
        lines.append(f"excluded <- excluded | holds({_test(rule)})")
    lines += ['cat(sum(excluded), "of", nrow(trials), "trials excluded\\n")', "trials <- trials[!excluded, ]"]
    return "\n".join([*lines, ""])


def _test(rule: Rule) -> str:
    if isinstance(rule, MinTime | MaxTime):
        sign = "<" if isinstance(rule, MinTime) else ">"
        return f"as.numeric({_column(CLOCK_COLUMNS[rule.clock])}) {sign} {rule.milliseconds!r}"
    if isinstance(rule, Answered):
        column = _column(rule.question)
        if isinstance(rule.value, bool):
            return f"{column} == {quoted(str(rule.value).lower())}"
        if isinstance(rule.value, str):
            return f"{column} == {quoted(rule.value)}"
        return f"as.numeric({column}) == {rule.value!r}"
    if isinstance(rule, AnsweredNumber):
        number = f"as.numeric({_column(rule.question)})"
        bounds = ((">=", rule.at_least), ("<=", rule.at_most))
        return " & ".join(f"{number} {sign} {bound!r}" for sign, bound in bounds if bound is not None)
    if isinstance(rule, Flagged):
        return f'grepl({quoted(f";{rule.flag};")}, paste0(";", {_column("flags")}, ";"), fixed = TRUE)'
    return f"{_column('item_id')} == {quoted(rule.item_id)}"


def _column(name: str) -> str:
    return f"trials[[{quoted(name)}]]"


def _calls(version: Version, clock: Clock | None) -> str:
    lines = [f"fit_time({quoted(CLOCK_COLUMNS[clock])})"] if clock else []
    for question in version.item_questionnaire:
        lines += _question(question)
    return "\n".join([*lines, ""])


def _question(question: Question) -> list[str]:
    if question.role == "known_before":
        return []
    if isinstance(question.scale, Points):
        return [f"fit_points({quoted(question.key)})"]
    column = _column(question.key)
    lines = [f'fit_yes_no({quoted(question.key)}, {column} == "true")']
    if question.role == "correctness_rating":
        right = f"{column} == {_column('system_correct')}"
        lines.append(f'if (any(!is.na(trials$system_correct))) fit_yes_no("rating_is_right", {right})')
    return lines
