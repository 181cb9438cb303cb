"""``asyncsim explain``: what a rule means, the smallest schedule that breaks it, the fix."""

from __future__ import annotations

from argparse import Namespace

from asyncsim.cli.exit_code import ExitCode
from asyncsim.cli.options import CommandParser, add_json
from asyncsim.cli.output import emit, emit_json
from asyncsim.errors import UsageError
from asyncsim.rules import Rule


def add_arguments(parser: CommandParser) -> None:
    """RULE, ``--example``, ``--json``."""
    parser.add_argument("rule", metavar="RULE", nargs="?", help="a rule; none lists them all")
    parser.add_argument(
        "--example", action="store_true", help="print the example alone, as a scenario file"
    )
    add_json(parser)


def run(args: Namespace) -> ExitCode:
    """Print the list of rules, or one rule with its example, which is run here."""
    from asyncsim.cli.explain_text import rule_json, rules_text

    if args.example and args.json:
        raise UsageError("--example prints a Python file; leave --json out")
    if args.rule is None:
        if args.example:
            raise UsageError("--example needs a RULE; `asyncsim explain` lists them all")
        if args.json:
            emit_json([rule_json(rule) for rule in Rule])
        else:
            emit(rules_text())
        return ExitCode.CLEAN
    _explain(args)
    return ExitCode.CLEAN


def _explain(args: Namespace) -> None:
    from asyncsim.catalog import builtin_scenarios
    from asyncsim.cli.explain_text import explanation_json, explanation_text
    from asyncsim.cli.rule_example import find_rule, run_example, twins_that_show
    from asyncsim.rule_notes import NOTES

    rule = find_rule(args.rule)
    if args.example:
        if rule not in NOTES:
            raise UsageError(f"{rule.name} has no example: nothing reports it yet")
        emit(NOTES[rule].program)
        return
    finding = run_example(rule)
    twins = twins_that_show(rule, builtin_scenarios())
    if args.json:
        emit_json(explanation_json(rule, finding, twins))
    else:
        emit(explanation_text(rule, finding, twins))
