/** What providers share that pass over members which they do not know. */
import { invalid, type Refusal, type Rule } from '../rule.ts';
import { pairedCalls } from '../rules/chat-order.ts';
import { bracketed, type Fault } from '../shape.ts';

export const error = ({ path, expected }: Fault): Refusal =>
  invalid(`Invalid value for '${bracketed(path)}': expected ${expected}`);
export const fallback =
  'temperature top_p max_tokens max_completion_tokens stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs parallel_tool_calls user n';
export const open = { closed: false, members: fallback, formats: 'text json_object json_schema' } as const;
export const paired = (name: string, source: string): Rule =>
  pairedCalls(`${name}/paired-calls`, source, {
    missing: (ids) => invalid(`tool calls without results: ${ids}`),
    orphan: () => invalid('messages with role "tool" must be a response to a preceeding message with "tool_calls".'),
  });
