"""What each attack may end as, in the words of `suite.told`, and how long it is given."""

from __future__ import annotations

import sys

from toolhop_sandbox.base import Policy

_SLOW = """
    ahead/sleeps_before_it_is_called ahead/spins_before_it_is_called
    ahead/spins_in_c_before_it_is_called frames/endless_value frames/begins_in_time frames/stalls
    leftovers/stops_the_clock_and_spins limits/catastrophic_regex limits/endless_loop_in_c
    limits/endless_text limits/faults_for_ever limits/huge_integer limits/infinite_loop
    limits/interrupts_processors limits/sleeps_in_c limits/stops_itself limits/swallows_everything
    limits/waits_for_a_lock processes/thread_bomb
"""
LIMITS_S = dict.fromkeys(_SLOW.split(), 0.1) | {
    "frames/begins_in_time": 0.5,
    "processes/thread_bomb": 0.5,
}
"""Time limits in seconds of attacks that reach them."""

_NONE = {
    "ahead/raises_before_it_is_called": "raised SystemExit",
    "ahead/sleeps_before_it_is_called": "timed out",
    "ahead/spins_before_it_is_called": "timed out",
    "ahead/spins_in_c_before_it_is_called": "timed out",
    "frames/begins_in_time": "timed out",
    "frames/claims_a_timeout": "died",
    "frames/claims_to_be_refused": "died",
    "frames/deep_result": "value",
    "frames/duplicates": 'value "first"',
    "frames/endless_value": "out of memory|timed out",
    "frames/fills_the_connection": "value",
    "frames/forged_outcome": "raised",
    "frames/forges_its_result": 'value "mine"',
    "frames/hangs_up": "died",
    "frames/huge_result": "too large",
    "frames/imitates_our_faults": "raised SandboxFault",
    "frames/lone_surrogate": 'value "\\ud800"',
    "frames/lying_values": "value [5, 0.5,",
    "frames/nested_result": "not json",
    "frames/not_a_number": "not json",
    "frames/not_utf_8": "not json",
    "frames/oversized": "died",
    # On a busy machine its thread writes before its own reply is written.
    "frames/reply_by_a_thread": "held|not json",
    "frames/replies_and_goes_on": 'value "early"',
    "frames/replies_and_stops": 'value "early"',
    "frames/stalls": "timed out",
    "frames/truncated": "died",
    "leftovers/lying_exception": "raised Odd",
    "layers/above_the_limit": "too large",
    "layers/beyond_the_cap": "died",
    "layers/overflowing_number": "not json",
    "layers/takes_memory": "out of memory",
    # They break the worker's part of their own process; what it says then is its affair.
    "leftovers/patched_builtins": "died|held",
    "leftovers/patched_library": "died|held",
    "leftovers/patched_worker": 'value "own"',
    "leftovers/stops_the_clock_and_spins": "timed out",
    "leftovers/value_with_code": "not json",
    "limits/catastrophic_regex": "timed out",
    # From Python 3.12 on the interpreter counts recursion in C as well.
    "limits/deep_recursion": "died|out of memory|timed out|raised RecursionError",
    "limits/endless_loop_in_c": "timed out",
    "limits/endless_text": "timed out",
    "limits/faults_for_ever": "timed out",
    "limits/full_to_the_brim": "raised Full|out of memory|timed out",
    "limits/huge_integer": "timed out|out of memory",
    "limits/huge_string": "out of memory",
    "limits/huge_text": "raised Long",
    "limits/infinite_loop": "timed out",
    "limits/interrupts_processors": "timed out|held",
    "limits/memory_bomb": "out of memory",
    "limits/memory_by_mapping": "held|out of memory",
    "limits/sleeps_in_c": "timed out",
    "limits/stops_itself": "timed out",
    "limits/swallows_everything": "timed out",
    "limits/waits_for_a_lock": "timed out",
    "processes/crashes": "died",
    "processes/exits": "died",
    "processes/refused_architecture": "died",
    "processes/thread_bomb": "timed out",
    "processes/thread_bomb_after_the_reply": 'value "ok"',
    "processes/vsyscall": "held|died",
}
"""Without a policy, where it is not ``held``."""

_RESTRICTED = {
    "ahead/counts_its_calls": "held",
    "ahead/raises_before_it_is_called": "raised SystemExit",
    "ahead/sleeps_before_it_is_called": "timed out",
    "ahead/spins_before_it_is_called": "timed out",
    "ahead/spins_in_c_before_it_is_called": "timed out",
    "ahead/starts_threads_before_it_is_called": "held",
    "ahead/takes_memory_before_it_is_called": "held",
    "frames/deep_result": "value",
    "frames/endless_value": "out of memory|timed out",
    "frames/huge_result": "too large",
    "frames/imitates_our_faults": "raised SandboxFault",
    "frames/lone_surrogate": 'value "\\ud800"',
    "frames/lying_values": "value [5, 0.5,",
    "leftovers/random_state": "raised PolicyViolation",
    "leftovers/value_with_code": "not json",
    "limits/catastrophic_regex": "timed out",
    "limits/endless_loop_in_c": "timed out",
    "limits/endless_text": "timed out",
    "limits/full_to_the_brim": "raised Full|out of memory|timed out",
    "limits/huge_integer": "timed out|out of memory",
    "limits/huge_string": "out of memory",
    "limits/huge_text": "raised Long",
    "limits/infinite_loop": "timed out",
    "limits/memory_bomb": "out of memory",
    "limits/sleeps_in_c": "timed out",
    "limits/swallows_everything": "timed out",
    "policy/annotations_as_source": "raised AttributeError",
    "policy/attributes_by_a_memo": "held",
    "policy/base_swapped_in_a_statement": "raised PolicyViolation",
    "policy/class_hooks": "held",
    "policy/copy_into_another": "raised PolicyViolation",
    "policy/copy_of_a_renamed_method": "raised PolicyViolation",
    "policy/copy_with_a_memo": "raised TypeError",
    "policy/disguised_name": "raised TypeError",
    "policy/fields_as_source": "held",
    "policy/format_map_template": "raised PolicyViolation",
    "policy/format_template": "raised PolicyViolation",
    "policy/forward_reference": "held",
    "policy/generator_frame_by_name": "raised PolicyViolation",
    "policy/imports_with_hope": "held",
    "policy/key_that_changes": "held",
    "policy/made_methods_left_behind": "raised PolicyViolation",
    "policy/member_maker_swapped": "raised PolicyViolation",
    "policy/method_bound_by_a_memo": "held",
    "policy/modules_of_modules": "held",
    "policy/names_by_wrapping_twice": "raised PolicyViolation",
    "policy/object_behind_an_alias": "raised PolicyViolation",
    "policy/object_of_an_error": "raised PolicyViolation",
    "policy/reduce_chain": "raised PolicyViolation",
    "policy/shadowed_guard": "held",
    "policy/string_formatter": "raised AttributeError",
    "policy/subclasses": "held",
    "policy/traceback_given_to_exit": "held",
    "policy/user_string": "raised AttributeError",
    "policy/wrapped_names": "held",
    "policy/writes_by_a_made_initial": "raised PolicyViolation",
    "policy/writes_by_a_member": "raised PolicyViolation",
    "policy/writes_on_the_library": "held",
    "secrets/processor_time_of_others": "held",
}
"""Under the policy, where it is not ``refused``."""

_LEAVING = """
    annotated_base initials_of_the_library leaves_and_goes_on metaclass reads_by_a_made_method
    signature_in_a_docstring type_by_comparison
"""
LEAVES = {f"policy/{name}": "escaped" for name in _LEAVING.split()}
"""Attacks that leave the policy, by functions of the library that do at run time what source may
not. The walls behind it hold them: nothing else may come of them than without a policy."""
# From Python 3.13 on the library no longer compares by what an object defines.
LEAVES["policy/type_by_comparison"] = "escaped|held" if sys.version_info >= (3, 13) else "escaped"
# It searches for addresses, and does not always find them.
LEAVES["policy/type_by_a_cache"] = "escaped|held"

WEAKER = {"secrets/names_of_files": "seen"}
"""Without a policy, in the process sandbox: what only a file system of its own stops."""


def is_refused(name: str) -> bool:
    """Whether the policy refuses the source of an attack, so that nothing of it runs."""
    return name not in LEAVES and name not in _RESTRICTED


def allowed(name: str, kind: str, policy: Policy, word: str) -> bool:
    """Whether an attack in a sandbox of `kind` may end as `word` says."""
    if policy == "restricted":
        expected = LEAVES.get(name) or _RESTRICTED.get(name, "refused")
    elif name.startswith("policy/"):
        # Nothing to leave. What the interpreter makes of it is no matter of the sandbox.
        return word != "worker lost"
    elif kind == "process" and name in WEAKER:
        expected = WEAKER[name]
    else:
        expected = _NONE.get(name, "held")
    return any(word == one or word.startswith(one + " ") for one in expected.split("|"))
