"""Templates of texts that packages without translations write.

The model server and the analysis give plain English, which runs and scores
store. `recognise_message` finds the template that made such a text, so that a
page shows it in the reader's language. Values named ``problem`` are texts of
the same kind.
"""

import re
from functools import cache

from django.utils.translation import gettext_noop

from foundation.messages import Message, prefix_field

TEMPLATES = (
    # Assumptions of a sample size (`analysis.planning`).
    gettext_noop(
        "the effect %(effect)s moves the mean share %(mean)s to %(share)s; give effects that keep it between "
        "0 and 1"
    ),
    # Items that a system does not take (`modelserver.inputs`, `.modular`, `.systems`).
    gettext_noop("it is empty"),
    gettext_noop("it contains no words"),
    gettext_noop("at least one article is needed"),
    gettext_noop("at least one sentence is needed"),
    gettext_noop("%(count)s characters; at most %(most)s are read"),
    gettext_noop("%(count)s tokens; at most %(most)s are read"),
    gettext_noop("%(count)s words; at most %(most)s are read"),
    gettext_noop("%(count)s tokens, and the model reads %(most)s"),
    gettext_noop("the item has %(count)s tokens; at most %(most)s are taken"),
    gettext_noop("%(count)s images; one or two are looked at"),
    gettext_noop("an image of %(size)s pixels; at most %(most)s are read"),
    gettext_noop("no PNG or JPEG image"),
    gettext_noop("a damaged image: %(problem)s"),
    gettext_noop("its region features cannot be read: %(problem)s"),
    gettext_noop("this system looks at images and reads no passage"),
    gettext_noop("this system answers with words of the articles, yes or no, and cannot choose a label"),
    gettext_noop("the words of a passage are needed: attentions are over them"),
    gettext_noop("a word from %(start)s to %(end)s is not in a passage of %(length)s code points"),
    gettext_noop("begins before the word before it ends"),
    gettext_noop("the item has none, and this system parses none itself"),
    gettext_noop("the item has either images or a passage"),
    gettext_noop("this network was trained without extract-answer"),
    gettext_noop("the passage states nothing that %(module)s could find"),
    gettext_noop("more than %(most)s modules that read words"),
    gettext_noop('the encoder has no mask token; ask for the baseline "zero"'),
    gettext_noop("programs need images or one article, and the question has %(count)s articles"),
    gettext_noop("the item has none"),
    gettext_noop("there is nothing here that the system could answer"),
    # Systems that fail (`modelserver.systems`, `.serving`).
    gettext_noop("%(system)s failed: %(problem)s"),
    gettext_noop("%(system)s could not check the item: %(problem)s"),
    gettext_noop("%(system)s ran out of memory on this item alone: %(problem)s"),
    gettext_noop("%(problem)s, twice in a row"),
    gettext_noop("%(problem)s, %(count)s times in a row"),
    gettext_noop("the process was ended after %(seconds)s s without an answer"),
    gettext_noop("the process ended by %(signal)s"),
    gettext_noop("the process ended with status %(status)s"),
    gettext_noop("the program comes to %(value)s, which is not a number"),
    gettext_noop("the system's logits are not finite numbers: its weights are damaged"),
    gettext_noop("the system's scores are not numbers: its weights are damaged"),
    gettext_noop("the network's attentions are not numbers: its weights are damaged"),
    gettext_noop("the saliency is not a finite number: the system's weights are damaged"),
    gettext_noop("the answer heads saw no words, so there is no logit to explain"),
    gettext_noop("the context has no tokens, so there is no logit to explain"),
    gettext_noop("the system did not answer exactly the items it was given, in their order"),
    gettext_noop("it executed another program, %(program)s"),
    # Language models (`modelserver.systems.language`).
    gettext_noop("no reply within %(seconds)s s"),
    gettext_noop("the reply was cut: %(problem)s"),
    gettext_noop("the reply is not JSON, or was cut"),
    gettext_noop("the reply is not a JSON object"),
    gettext_noop("the reply holds no choices with a message"),
    gettext_noop("the reply has no content"),
    gettext_noop("the model refused: %(problem)s"),
    gettext_noop("the model called a tool instead of answering"),
    gettext_noop("the answer is not the JSON asked for: %(problem)s"),
    gettext_noop(
        "the answer is not the JSON asked for (cut at the most tokens that the file allows): %(problem)s"
    ),
    gettext_noop("it is %(type)s, and the item has labels"),
    gettext_noop("it is %(type)s, and the item has no labels"),
    gettext_noop("%(answer)s is none of the labels"),
    gettext_noop("the server gives no log-probabilities, which relevance: leave-one-out needs"),
    gettext_noop("the server gave log-probabilities for some answers only"),
    gettext_noop("%(problem)s; top up the account, then start the run again"),
    gettext_noop(
        "the budget does not allow another request (%(spent)s are spent); raise it under limits in the "
        "system's file, restart the model server and start the run again"
    ),
    # Servers of systems (`modelserver.systems.remote`).
    gettext_noop("it is not among the predictions"),
    gettext_noop("it is not among the explanations"),
    gettext_noop("%(name)s lies outside the item"),
    gettext_noop("first and last refer to no score"),
    gettext_noop("%(system)s has no saliency: its server answers %(status)s at %(path)s"),
    gettext_noop('%(system)s answers without a "revision"; add it there, or to the address as #REVISION'),
    gettext_noop('%(system)s did not answer with an object that has a list of "predictions"'),
    gettext_noop("%(system)s did not answer with JSON"),
    gettext_noop("%(system)s did not answer in time"),
    gettext_noop("%(system)s answered more than %(most)s bytes"),
    gettext_noop("%(name)s is not an object with an id"),
    # The model server and its client (`modelserver.serving`, `modelserver.wire`).
    gettext_noop("%(server)s answered %(status)s: %(problem)s"),
    gettext_noop("%(server)s cannot be reached: %(problem)s"),
    gettext_noop("%(server)s did not answer within %(seconds)s s"),
    gettext_noop("%(server)s was not ready within %(seconds)s s: %(problem)s"),
    gettext_noop("%(system)s changed from revision %(before)s to %(revision)s"),
    gettext_noop(
        "two model servers serve %(system)s in different revisions: %(first)s in %(revision)s, "
        "%(second)s in %(revision2)s; give them the same weights"
    ),
    gettext_noop("asked %(system)s, answered by %(other)s"),
    gettext_noop("%(count)s items were asked, but the answer has %(found)s"),
    gettext_noop("%(count)s items exceed the queue of %(most)s"),
    gettext_noop("%(count)s items wait, and %(system)s is not loaded"),
    gettext_noop("the server is loading its systems"),
    gettext_noop("the server is shutting down"),
    gettext_noop("the server shut down before it could answer"),
    gettext_noop("the request cannot be sent: %(problem)s"),
    gettext_noop("%(answer)s, not in the form of a model server"),
    gettext_noop("no system %(system)s is served; served: %(names)s"),
    gettext_noop("%(system)s could not be loaded: %(problem)s"),
    gettext_noop("%(system)s could not answer a first question: %(problem)s"),
    gettext_noop("%(system)s takes %(bytes)s bytes, more than the %(most)s that are allowed"),
    gettext_noop("%(system)s was changed while it was loaded; ask again"),
    gettext_noop("%(system)s is a modular network, which executes programs and answers no questions"),
    gettext_noop("%(system)s is a reader, which executes no programs"),
    # Runs (`jobs`, `predictions`, `annotation`).
    gettext_noop(
        "the model server now serves %(system)s in revision %(now)s, and this run is of revision "
        "%(revision)s; run the command again to start a run of the new revision"
    ),
    gettext_noop("the model server at %(server)s does not serve %(system)s; it serves: %(names)s"),
    gettext_noop("%(system)s is a modular network: it executes programs (execute_programs)"),
    gettext_noop("%(system)s is a reader: it answers questions (predict), and executes no programs"),
    gettext_noop("question %(question)s: %(problem)s"),
    gettext_noop("question %(question)s has reduced inputs without an answer yet"),
    gettext_noop("the project %(project)s has no item of this id"),
    gettext_noop("%(system)s has another output for this item already; use another revision"),
    gettext_noop("a step has two outputs"),
    gettext_noop("the program has no further %(module)s"),
    gettext_noop("the output is of %(module)s, but the step is %(other)s"),
    gettext_noop("the item has %(count)s images, not %(given)s"),
    gettext_noop("there are %(given)s probabilities for %(count)s proposals"),
    gettext_noop("there are %(given)s values for %(count)s tokens"),
    gettext_noop("boxes have probabilities of proposals, spans an attention over tokens"),
    gettext_noop("the item has no output of %(system)s"),
    gettext_noop("slices were enqueued again %(count)s times and never came back"),
    gettext_noop("cancelled by %(user)s"),
    # Webhooks (`jobs.webhooks`, `jobs.actions.webhooks`).
    gettext_noop("the webhook was ended"),
    gettext_noop("given up after %(count)s tries: %(problem)s"),
    gettext_noop("did not answer within %(seconds)s seconds"),
    gettext_noop("answered %(status)s; redirects are not followed"),
    gettext_noop("answered %(status)s"),
    gettext_noop("The address of %(host)s cannot be found: %(error)s"),
    gettext_noop("%(host)s is %(address)s, which is not a public address."),
    gettext_noop("%(address)s is not a public address."),
    # Why a run has no score (`analysis.scores`, `predictions.actions.scores`).
    gettext_noop("no prediction holds all gold facts"),
    gettext_noop("no prediction holds none of the gold facts"),
    gettext_noop("no predicted answer is a span"),
    gettext_noop("there is no prediction"),
    gettext_noop("the system gives no probability of its answers"),
    gettext_noop("the gold facts of %(count)s of %(all)s questions are unknown"),
    gettext_noop("the predictions do not tell where %(count)s of %(all)s answers lie"),
    gettext_noop("the system gave no fact probabilities for %(count)s questions"),
    gettext_noop("the system gave no probability for %(count)s questions"),
    gettext_noop("the system could not answer %(count)s reduced inputs; first: %(problem)s"),
    gettext_noop("the predictions came from a file without fact probabilities"),
    gettext_noop(
        "the predictions came from a file, so no served system is known to be the one that made them"
    ),
    gettext_noop(
        "the model server serves %(system)s in revision %(now)s, and the predictions are of revision "
        "%(revision)s"
    ),
    # Labels of links that the site makes (`studyapp.simulation_job`, the studio, simulate_participants).
    gettext_noop("bots of job %(job)s"),
    gettext_noop("rehearsal of the team"),
    gettext_noop("language model, seed %(seed)s"),
)

# Parts of an item that stand before a reason (`modelserver.wire.schema`, `annotation.actions`).
HEADS = (
    gettext_noop("question: %(problem)s"),
    gettext_noop("context: %(problem)s"),
    gettext_noop("program: %(problem)s"),
    gettext_noop("images: %(problem)s"),
    gettext_noop("proposals: %(problem)s"),
    gettext_noop("probabilities: %(problem)s"),
    gettext_noop("attention: %(problem)s"),
    gettext_noop("marks: %(problem)s"),
    gettext_noop("step %(step)s: %(problem)s"),
)

_VALUE = re.compile(r"%\((\w+)\)s")


def recognise_message(text: str) -> str:
    """Return a text with the template that made it; as it is if none did.

    A field or a system before a known text stays, unless it is a word of HEADS: ``context.3: …``.
    """
    if isinstance(text, Message):
        return text
    # Before a value, which could be "question: 30,000" of "question: 30,000 characters; …".
    head = _match_message(text, HEADS)
    if head is not None and isinstance(head.values["problem"], Message):
        return head
    if (message := _match_message(text, TEMPLATES)) is not None:
        return message
    field, colon, problem = text.partition(": ")
    inner = recognise_message(problem) if colon else problem
    return prefix_field(field, inner) if isinstance(inner, Message) else text


def _match_message(text: str, templates: tuple[str, ...]) -> Message | None:
    for pattern, template in _build_patterns(templates):
        if match := pattern.fullmatch(text):
            message = Message(text)
            message.template = template
            message.values = {
                name: recognise_message(value) if name == "problem" else value
                for name, value in match.groupdict().items()
            }
            return message
    return None


@cache
def _build_patterns(templates: tuple[str, ...]) -> list[tuple[re.Pattern[str], str]]:
    """Return a pattern for each template, in the order to try them.

    Ends of other texts come first, then templates with most fixed text.
    """
    ordered = sorted(
        templates, key=lambda text: (not text.startswith("%(problem)s"), -len(_VALUE.sub("", text)))
    )
    return [(_build_pattern(template), template) for template in ordered]


def _build_pattern(template: str) -> re.Pattern[str]:
    fixed = _VALUE.split(template)  # fixed text and names of values take turns
    parts = [f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(fixed)]
    return re.compile("".join(parts), re.DOTALL)
