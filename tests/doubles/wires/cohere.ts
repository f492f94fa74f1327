/** Cohere's second chat: plans before calls, usage reported twice. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, type Plan, torn } from '../plan.ts';
import { nameFrom } from '../seal.ts';
import { events, named, type ReplyContext, type Wire } from '../wire.ts';

type Item = Record<string, unknown>;

function receive(body: Json, stream: boolean, model: string): Heard {
  const format = record(body.response_format);
  const choice = body.tool_choice;
  return {
    tools: records(body.tools).flatMap((tool) => {
      const { name, parameters } = record(tool.function) ?? {};
      return typeof name === 'string' ? [{ name, schema: parameters }] : [];
    }),
    choice: choice === 'REQUIRED' ? 'required' : choice === 'NONE' ? 'none' : 'auto',
    parallel: true,
    answered: records(body.messages).at(-1)?.role === 'tool',
    schema: format?.type === 'json_object' ? (format.json_schema ?? null) : undefined,
    thinks: model.includes('reasoning') && record(body.thinking)?.type !== 'disabled',
    stream,
    usageFrame: false,
  };
}

function usageOf({ usage }: Plan): Item {
  const { prompt, cached, output } = usage;
  return {
    billed_units: { input_tokens: prompt, output_tokens: output },
    tokens: { input_tokens: prompt + 500, output_tokens: output + 4 },
    cached_tokens: cached,
  };
}

const finishOf = (plan: Plan): string => (plan.calls.length > 0 ? 'TOOL_CALL' : 'COMPLETE');

function whole(plan: Plan): Item {
  const words = plan.words.join('');
  const calls = plan.calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const thoughts = plan.thoughts.length === 0 ? [] : [{ type: 'thinking', thinking: plan.thoughts.join('') }];
  const said = calls.length > 0 ? { tool_plan: words, tool_calls: calls } : {};
  const content = [...thoughts, ...(calls.length > 0 ? [] : [{ type: 'text', text: words }])];
  return {
    id: 'practice',
    message: { role: 'assistant', ...said, ...(content.length === 0 ? {} : { content }) },
    finish_reason: finishOf(plan),
    usage: usageOf(plan),
  };
}

function frames(plan: Plan, context: ReplyContext): string[] {
  const event = (type: string, more: Item) => named(type, { type, ...more });
  const message = (content: Item) => ({ delta: { message: content } });
  const calling = plan.calls.length > 0;
  const stream = [
    event('message-start', { id: 'practice', ...message({ role: 'assistant', content: [], tool_calls: [] }) }),
  ];
  let index = 0;
  const block = (type: 'thinking' | 'text', chunks: readonly string[]) => {
    stream.push(event('content-start', { index, ...message({ content: { type, [type]: '' } }) }));
    for (const chunk of chunks)
      stream.push(event('content-delta', { index, ...message({ content: { [type]: chunk } }) }));
    stream.push(event('content-end', { index }));
    index++;
  };
  if (plan.thoughts.length > 0) block('thinking', plan.thoughts);
  if (calling) for (const tool_plan of plan.words) stream.push(event('tool-plan-delta', message({ tool_plan })));
  else block('text', plan.words);
  for (const [at, { id, name, args }] of plan.calls.entries()) {
    const tool_calls = { id, type: 'function', function: { name, arguments: '' } };
    stream.push(event('tool-call-start', { index: at, ...message({ tool_calls }) }));
    for (const chunk of torn(args))
      stream.push(
        event('tool-call-delta', { index: at, ...message({ tool_calls: { function: { arguments: chunk } } }) }),
      );
    stream.push(event('tool-call-end', { index: at }));
  }
  const end = (finish_reason: string, more: Item = {}) =>
    event('message-end', { delta: { finish_reason, usage: usageOf(plan), ...more } });
  if (context.breaks) return [...stream.slice(0, 3), end('ERROR', { error: 'the model failed, practice' })];
  return [...stream, end(finishOf(plan))];
}

export const cohereWire: Wire = {
  id: 'cohere-chat',
  receive,
  callId: (seed, name) => `${name}_${nameFrom(seed, 12)}`,
  whole,
  frames,
  contentType: events,
};
