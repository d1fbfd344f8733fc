"""Traces of people, who was where and when: reading, checking, publishing, attacking and measuring them."""

from sfumato.kinds.traces.attack import TraceAttack as TraceAttack
from sfumato.kinds.traces.attack import attack_traces as attack_traces
from sfumato.kinds.traces.check import TraceCheck as TraceCheck
from sfumato.kinds.traces.check import check_traces as check_traces
from sfumato.kinds.traces.forms import write_forms as write_forms
from sfumato.kinds.traces.make import TraceLoss as TraceLoss
from sfumato.kinds.traces.make import anonymize_traces as anonymize_traces
from sfumato.kinds.traces.measure import TraceUtility as TraceUtility
from sfumato.kinds.traces.measure import trace_utility as trace_utility
from sfumato.kinds.traces.policy import TracePolicy as TracePolicy
from sfumato.kinds.traces.reading import TraceGrain as TraceGrain
from sfumato.kinds.traces.reading import read_traces as read_traces
from sfumato.kinds.traces.release import TraceRelease as TraceRelease
from sfumato.kinds.traces.release import save_traces as save_traces
from sfumato.kinds.traces.traces import TracePrivacy as TracePrivacy
from sfumato.kinds.traces.traces import Traces as Traces
