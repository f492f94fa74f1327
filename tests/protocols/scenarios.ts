/** Answers in the common form, as upstreams of every dialect may give them. */
import type { ChatEvent, Usage } from '../../server/protocols/canonical.ts';
import { emptyUsage } from '../../server/protocols/shared/usage.ts';

const usage = (more: Partial<Usage>): Usage => ({ ...emptyUsage, input: 100, output: 20, ...more });
const start: ChatEvent = { type: 'response-start', id: 'r1', model: 'm', created: 1 };
const textEvents = (index: number, ...words: string[]): ChatEvent[] => [
  { type: 'text-start', index },
  ...words.map((text): ChatEvent => ({ type: 'text-delta', index, text })),
  { type: 'text-end', index },
];
const called = (index: number, id: string, name: string, ...chunks: string[]): ChatEvent[] => [
  { type: 'tool-call-start', index, id, name },
  ...chunks.map((chunk): ChatEvent => ({ type: 'tool-call-delta', index, arguments: chunk })),
  { type: 'tool-call-end', index },
];
const ended = (unified: 'stop' | 'length' | 'tool_calls' | 'content_filter', counts = usage({})): ChatEvent[] => [
  { type: 'usage', usage: counts },
  { type: 'finish', reason: { unified, raw: null } },
];

export const scenarios: Readonly<Record<string, readonly ChatEvent[]>> = {
  'plain text': [start, ...textEvents(0, 'Hello', ', ', 'world'), ...ended('stop')],
  'every script': [start, ...textEvents(0, '你好 🌍 ', 'é\u2028"\\', '\n\ndata: x\r\n'), ...ended('stop')],
  'cut by length': [start, ...textEvents(0, 'Once upon'), ...ended('length', usage({ cacheRead: 40 }))],
  filtered: [start, ...ended('content_filter')],
  thoughts: [
    start,
    { type: 'reasoning-start', index: 0 },
    { type: 'reasoning-delta', index: 0, text: 'Let me ' },
    { type: 'reasoning-delta', index: 0, text: 'think' },
    { type: 'reasoning-end', index: 0, signature: null, redacted: null },
    ...textEvents(1, '42'),
    ...ended('stop', usage({ output: 5, reasoning: 15 })),
  ],
  'a call': [start, ...called(0, 'call_1', 'weather', '{"city":', '"Paris"}'), ...ended('tool_calls')],
  'a call without arguments': [start, ...called(0, 'call_1', 'now', '{}'), ...ended('tool_calls')],
  'parallel calls after words': [
    start,
    ...textEvents(0, 'Looking'),
    ...called(1, 'call_1', 'weather', '{"city":"Paris"}'),
    ...called(2, 'call_2', 'time', '{"zone":', '"CET"}'),
    ...ended('tool_calls'),
  ],
  'interleaved calls': [
    start,
    { type: 'tool-call-start', index: 0, id: 'call_1', name: 'a' },
    { type: 'tool-call-start', index: 1, id: 'call_2', name: 'b' },
    { type: 'tool-call-delta', index: 1, arguments: '{"x":' },
    { type: 'tool-call-delta', index: 0, arguments: '{"y":2}' },
    { type: 'tool-call-delta', index: 1, arguments: '1}' },
    { type: 'tool-call-end', index: 0 },
    { type: 'tool-call-end', index: 1 },
    ...ended('tool_calls'),
  ],
  'nested arguments': [start, ...called(0, 'call_1', 'add', '{"n":[1,{"deep":null}],"s":"é"}'), ...ended('tool_calls')],
};
