/** Chat completions as their many providers speak them: one dialect, and the habits that tell them apart. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, idWith, type Plan, torn } from '../plan.ts';
import { created, data, events, named, type ReplyContext, type Wire } from '../wire.ts';

export interface ChatHabits {
  /** Where thoughts are told. */
  readonly thoughts: 'reasoning_content' | 'reasoning' | 'reasoning_details' | 'content-parts' | 'think-tag' | 'hidden';
  readonly thinks: (model: string, body: Json) => boolean;
  readonly callId?: (seed: string, name: string) => string;
  /** Every chunk says its words in `choices[].text` too. */
  readonly textBeside?: boolean;
  /** Whole answers carry an empty `delta`. */
  readonly deltaBeside?: boolean;
  /** Usage stands in the last frame with a choice, asked for or not. */
  readonly usageInLast?: boolean;
  /** A call comes in one piece. */
  readonly wholeCalls?: boolean;
  readonly breaks?: (message: string) => string;
  /** Members besides OpenAI's in every answer. */
  readonly more?: Json;
}

type Item = Record<string, unknown>;

function receive(body: Json, stream: boolean, model: string, habits: ChatHabits): Heard {
  const choice = body.tool_choice;
  const format = record(body.response_format);
  const wanted = record(record(choice)?.function)?.name;
  return {
    tools: records(body.tools).flatMap((tool) => {
      const { name, parameters } = record(tool.function) ?? {};
      return typeof name === 'string' ? [{ name, schema: parameters }] : [];
    }),
    choice:
      typeof wanted === 'string'
        ? { name: wanted }
        : choice === 'none' || choice === 'required'
          ? choice
          : choice === 'any'
            ? 'required'
            : 'auto',
    parallel: body.parallel_tool_calls !== false,
    answered: records(body.messages).at(-1)?.role === 'tool',
    schema:
      format?.type === 'json_schema'
        ? (record(format.json_schema)?.schema ?? null)
        : format?.type === 'json_object'
          ? null
          : undefined,
    thinks: habits.thinks(model, body),
    stream,
    usageFrame: record(body.stream_options)?.include_usage === true,
  };
}

function usageOf({ usage }: Plan, { overCached }: ReplyContext): Item {
  const { prompt, cached, output, thought } = usage;
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: overCached ? prompt + 7 : cached },
    completion_tokens_details: { reasoning_tokens: thought },
  };
}

/** Where the thoughts of a piece stand, in a message or in a delta. */
function thoughtMembers(habits: ChatHabits, text: string): Item {
  switch (habits.thoughts) {
    case 'reasoning_content':
      return { reasoning_content: text };
    case 'reasoning':
      return { reasoning: text };
    case 'reasoning_details':
      return { reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, format: 'unknown', index: 0 }] };
    case 'content-parts':
      return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
    case 'think-tag':
    case 'hidden':
      return {};
  }
}

const finishOf = (plan: Plan): string => (plan.calls.length > 0 ? 'tool_calls' : 'stop');
const envelope = (object: string, { model }: ReplyContext, habits: ChatHabits): Item => ({
  id: 'chatcmpl-practice',
  object,
  created,
  model,
  ...habits.more,
});

function messageOf(plan: Plan, habits: ChatHabits): Item {
  const thoughts = plan.thoughts.join('');
  const words = plan.words.join('');
  const thoughtFields = thoughts === '' ? {} : thoughtMembers(habits, thoughts);
  const tagged =
    habits.thoughts === 'think-tag' && thoughts !== '' ? `<think>\n${thoughts}</think>\n\n${words}` : words;
  const content =
    'content' in thoughtFields
      ? [...(thoughtFields.content as readonly Item[]), { type: 'text', text: words }]
      : tagged;
  const calls = plan.calls.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return { role: 'assistant', ...thoughtFields, content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

function whole(plan: Plan, context: ReplyContext, habits: ChatHabits): unknown {
  return {
    ...envelope('chat.completion', context, habits),
    choices: [
      {
        index: 0,
        message: messageOf(plan, habits),
        ...(habits.deltaBeside === true ? { delta: { role: 'assistant', content: '' } } : {}),
        logprobs: null,
        finish_reason: finishOf(plan),
      },
    ],
    usage: usageOf(plan, context),
  };
}

function deltasOf(plan: Plan, habits: ChatHabits): Item[] {
  const deltas: Item[] = [{ role: 'assistant', content: '' }];
  if (habits.thoughts === 'think-tag' && plan.thoughts.length > 0)
    deltas.push({ content: '<think>\n' }, ...plan.thoughts.map((content) => ({ content })), {
      content: '</think>\n\n',
    });
  else if (habits.thoughts !== 'hidden') deltas.push(...plan.thoughts.map((text) => thoughtMembers(habits, text)));
  deltas.push(...plan.words.map((content) => ({ content })));
  if (habits.wholeCalls === true) {
    const calls = plan.calls.map(({ id, name, args }, index) => ({
      id,
      index,
      function: { name, arguments: JSON.stringify(args) },
    }));
    if (calls.length > 0) deltas.push({ content: '', tool_calls: calls });
    return deltas;
  }
  for (const [index, { id, name, args }] of plan.calls.entries()) {
    deltas.push({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
    for (const chunk of torn(args)) deltas.push({ tool_calls: [{ index, function: { arguments: chunk } }] });
  }
  return deltas;
}

const overloaded = 'The server is overloaded, practice';
const usualBreak = (message: string): string =>
  data({ error: { message, type: 'server_error', param: null, code: 'server_error' } });

function frames(plan: Plan, context: ReplyContext, habits: ChatHabits): string[] {
  const chunk = (choices: readonly unknown[], more: Item = {}) =>
    data({ ...envelope('chat.completion.chunk', context, habits), choices, ...more });
  const choice = (delta: Item, finish: string | null): Item => ({
    index: 0,
    delta,
    ...(habits.textBeside === true ? { text: typeof delta.content === 'string' ? delta.content : '' } : {}),
    finish_reason: finish,
  });
  const deltas = deltasOf(plan, habits).map((delta) => chunk([choice(delta, null)]));
  if (context.breaks) return [...deltas.slice(0, 3), (habits.breaks ?? usualBreak)(overloaded)];
  const usage = { usage: usageOf(plan, context) };
  const last = chunk([choice({}, finishOf(plan))], habits.usageInLast === true ? usage : {});
  const counted = context.received.usageFrame && habits.usageInLast !== true ? [chunk([], usage)] : [];
  return [...deltas, last, ...counted, 'data: [DONE]\n\n'];
}

/** Groq's way of failing in a stream: an event with a name. */
export const namedBreak = (message: string): string => named('error', { error: { message, status_code: 503 } });

export const chatWire = (habits: ChatHabits): Wire => ({
  id: 'openai-chat',
  receive: (body, stream, model) => receive(body, stream, model, habits),
  callId: habits.callId ?? idWith('call_', 24),
  whole: (plan, context) => whole(plan, context, habits),
  frames: (plan, context) => frames(plan, context, habits),
  contentType: events,
});
