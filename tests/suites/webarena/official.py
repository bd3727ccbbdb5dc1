"""WebArena's and WebArena-Verified's own graders, as a program: JSON lines in, JSON lines out.

Run by a Python that has libwebarena 0.0.5 (with nltk, beartype, playwright, ...) and
webarena-verified 1.2.3, and nothing of ours. Upstream splits sentences by a model that it
downloads; here words are split by the same rules without it. The judge is a stand-in: it says no.
"""

# ruff: noqa: PLC0415, BLE001 - each grader loads seconds' worth of what only it needs

import json
import logging
import os
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
URLS = json.loads(sys.argv[1])
os.environ.update({site.upper(): url for site, url in URLS.items()})


def verified():
    """(record, answer, HAR entries) -> (score, each evaluator's score and status)."""
    import webarena_verified.api.internal.evaluator as upstream
    from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig
    from webarena_verified.types.eval import TaskEvalContext
    from webarena_verified.types.task import WebArenaVerifiedTask
    from webarena_verified.types.tracing import NetworkTrace

    config = WebArenaVerifiedConfig(
        environments={site: EnvironmentConfig(urls=[url]) for site, url in URLS.items()}
    )
    upstream.compute_data_file_checksum = lambda _: ""  # of the whole data, at each verdict
    grader = upstream.WebArenaVerifiedEvaluator(config=config, reader=None)

    def grade(asked):
        context = TaskEvalContext(
            task=WebArenaVerifiedTask.model_validate(asked["record"]),
            agent_response_raw=asked["answer"],
            network_trace=NetworkTrace.from_content(asked["entries"]),
            config=config,
        )
        found = grader.evaluate_task(context=context)
        return {
            "score": found.score,
            "parts": [one.score for one in found.evaluators_results],
            "error": next((o.error_msg for o in found.evaluators_results if o.error_msg), None),
        }

    return grade


def values():
    """(value, value, type) -> whether Verified takes them for equal; None if it cannot read one."""
    from webarena_verified.core.evaluation.data_types import TYPE_REGISTRY
    from webarena_verified.types.config import EnvironmentConfig, WebArenaVerifiedConfig

    config = WebArenaVerifiedConfig(
        environments={site: EnvironmentConfig(urls=[url]) for site, url in URLS.items()}
    )
    sites = list(config.environments)
    given = {
        "derender_url_fct": lambda text, **_: config.derender_url(text, sites=sites, strict=False),
        "render_url_fct": lambda text: config.render_url(text, sites=sites, strict=False),
    }

    def equal(asked):
        found = []
        for value in asked["values"]:
            try:
                found.append(TYPE_REGISTRY[asked["kind"]](value, **given))
            except Exception:  # upstream raises what its many parsers raise
                return {"equal": None}
        return {"equal": bool(found[0] == found[1])}

    return equal


def shown(page):
    """A class of pages whose answers are given."""

    class Shown(page):
        def __init__(self, url, pages):
            self._url, self._pages = url, pages

        url = property(lambda self: self._url)
        context = property(lambda self: self)

        def new_page(self):
            return Shown(self._url, self._pages)

        def goto(self, url, **_):
            self._url = url

        def close(self, **_):
            pass

        def content(self):
            return self._pages.get(self._url, {}).get("", "")

        def evaluate(self, script, *_):
            name = "role" if "td.col-max-role" in script else script.removeprefix("() => ").strip()
            return self._pages.get(self._url, {}).get(name, "")

    return Shown


def original():
    """(record with its URLs in place, answer, last url, pages) -> score."""
    import webarena.evaluation_harness.evaluators as upstream
    from nltk.tokenize import NLTKWordTokenizer
    from playwright.sync_api import Page

    split = NLTKWordTokenizer()
    upstream.word_tokenize = split.tokenize
    upstream.llm_fuzzy_match = upstream.llm_ua_match = lambda *_, **__: 0.0
    upstream.time.sleep = lambda _: None

    made = shown(Page)

    def grade(asked):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(asked["record"], file)
            file.flush()
            page = made(asked["url"], asked.get("pages", {}))
            path = [{}, {"answer": asked["answer"]}]
            kinds = asked["record"]["eval"]["eval_types"]
            score = 1.0
            if "string_match" in kinds:
                score *= upstream.StringEvaluator()(path, file.name)
            if "url_match" in kinds:
                score *= upstream.URLEvaluator.__call__.__wrapped__(
                    upstream.URLEvaluator(), path, file.name, page
                )
            if "program_html" in kinds:
                score *= upstream.HTMLContentEvaluator.__call__.__wrapped__(
                    upstream.HTMLContentEvaluator(), path, file.name, page
                )
        return {"score": score}

    return grade


def words():
    """text -> the words that upstream's tokeniser finds."""
    from nltk.tokenize import NLTKWordTokenizer

    split = NLTKWordTokenizer()
    return lambda asked: {"words": split.tokenize(asked["text"])}


def main():
    made = {}
    for line in sys.stdin:
        asked = json.loads(line)
        kind = asked["ask"]
        if kind not in made:
            made[kind] = {
                "verified": verified,
                "values": values,
                "original": original,
                "words": words,
            }[kind]()
        sys.stdout.write(json.dumps(made[kind](asked)) + "\n")
    sys.stdout.flush()


main()
