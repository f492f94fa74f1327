/** Responses as OpenAI answers them: sealed thoughts, items with ids of their own, compaction on demand. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, type HeardText, idWith, type Plan, torn } from '../plan.ts';
import { nameFrom } from '../seal.ts';
import { created, events, named, type ReplyContext, type Wire } from '../wire.ts';

type Item = Record<string, unknown>;

export const inputOf = (body: Json): readonly Item[] =>
  typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : records(body.input);

/** Tools that take texts, wherever they are declared: beside functions, in a namespace, in an item of the input. */
function textTools(tools: unknown, namespace?: string): readonly HeardText[] {
  return records(tools).flatMap((tool): readonly HeardText[] => {
    if (tool.type === 'namespace') return textTools(tool.tools, String(tool.name));
    if (tool.type !== 'custom') return [];
    return [{ name: String(tool.name), ...(namespace === undefined ? {} : { namespace }) }];
  });
}

function receive(body: Json, stream: boolean, thinks: boolean): Heard {
  const choice = body.tool_choice;
  const format = record(record(body.text)?.format);
  const named = record(choice)?.name;
  return {
    tools: records(body.tools).flatMap(({ type, name, parameters }) =>
      type === 'function' && typeof name === 'string' ? [{ name, schema: parameters }] : [],
    ),
    texts: [...textTools(body.tools), ...inputOf(body).flatMap(({ tools }) => textTools(tools))],
    choice: typeof named === 'string' ? { name: named } : choice === 'none' || choice === 'required' ? choice : 'auto',
    parallel: body.parallel_tool_calls !== false,
    answered: /_call_output$/.test(String(inputOf(body).at(-1)?.type)),
    schema:
      format?.type === 'json_schema' ? (format.schema ?? null) : format?.type === 'json_object' ? null : undefined,
    thinks,
    stream,
    usageFrame: false,
  };
}

const compacts = (body: Json): boolean => inputOf(body).at(-1)?.type === 'compaction_trigger';

/** The answer's items; ids follow from the request. */
function itemsOf(plan: Plan, { seals, body }: ReplyContext): Item[] {
  const id = (prefix: string, at = 0) => `${prefix}_${nameFrom(`${prefix} ${at} ${JSON.stringify(body)}`, 48)}`;
  if (compacts(body)) {
    const cmp = id('cmp');
    return [{ id: cmp, type: 'compaction', encrypted_content: seals.sign('compaction', '') }];
  }
  const sealed = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content');
  const summary =
    record(body.reasoning)?.summary == null ? [] : [{ type: 'summary_text', text: plan.thoughts.join('') }];
  const thoughts =
    plan.thoughts.length === 0
      ? []
      : [
          {
            id: id('rs'),
            type: 'reasoning',
            summary,
            ...(sealed ? { encrypted_content: seals.sign('reasoning', '') } : {}),
          },
        ];
  const message = {
    id: id('msg'),
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text: plan.words.join(''), annotations: [], logprobs: [] }],
  };
  const calls = plan.calls.map((call, at) => {
    if (call.text !== undefined)
      return {
        id: id('ctc', at),
        type: 'custom_tool_call',
        status: 'completed',
        call_id: call.id,
        name: call.name,
        ...call.text,
      };
    return {
      id: id('fc', at),
      type: 'function_call',
      status: 'completed',
      call_id: call.id,
      name: call.name,
      arguments: JSON.stringify(call.args),
    };
  });
  return [...thoughts, message, ...calls];
}

function responseOf(plan: Plan, context: ReplyContext, status: string): Item {
  const { prompt, cached, output, thought } = plan.usage;
  const done = status === 'completed';
  const { body, model } = context;
  return {
    id: `resp_${nameFrom(JSON.stringify(body), 48)}`,
    object: 'response',
    created_at: created,
    status,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model,
    output: done ? itemsOf(plan, context) : [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: record(body.reasoning)?.effort ?? null, summary: null },
    store: body.store ?? true,
    temperature: body.temperature ?? 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: body.top_p ?? 1,
    truncation: 'disabled',
    usage: done
      ? {
          input_tokens: prompt,
          input_tokens_details: { cached_tokens: context.overCached ? prompt + 7 : cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: thought },
          total_tokens: prompt + output,
        }
      : null,
    user: null,
    metadata: {},
  };
}

type Event = readonly [type: string, members: Item];

/** One item, from its announcement to its end. */
function itemEvents(item: Item, output_index: number, plan: Plan): Event[] {
  const at = { item_id: item.id, output_index };
  const added = (shown: Item): Event => ['response.output_item.added', { output_index, item: shown }];
  const done: Event = ['response.output_item.done', { output_index, item }];
  switch (item.type) {
    case 'reasoning': {
      const [part] = records(item.summary);
      const place = { ...at, summary_index: 0 };
      if (part === undefined) return [added(item), done];
      return [
        added({ ...item, summary: [] }),
        ['response.reasoning_summary_part.added', { ...place, part: { type: 'summary_text', text: '' } }],
        ...plan.thoughts.map((delta): Event => ['response.reasoning_summary_text.delta', { ...place, delta }]),
        ['response.reasoning_summary_text.done', { ...place, text: part.text }],
        ['response.reasoning_summary_part.done', { ...place, part }],
        done,
      ];
    }
    case 'message': {
      const [part] = records(item.content);
      const place = { ...at, content_index: 0 };
      return [
        added({ ...item, status: 'in_progress', content: [] }),
        ['response.content_part.added', { ...place, part: { ...part, text: '' } }],
        ...plan.words.map((delta): Event => ['response.output_text.delta', { ...place, delta, logprobs: [] }]),
        ['response.output_text.done', { ...place, text: part?.text, logprobs: [] }],
        ['response.content_part.done', { ...place, part }],
        done,
      ];
    }
    case 'function_call': {
      const call = plan.calls.find(({ id }) => id === item.call_id);
      return [
        added({ ...item, status: 'in_progress', arguments: '' }),
        ...torn(call?.args).map((delta): Event => ['response.function_call_arguments.delta', { ...at, delta }]),
        ['response.function_call_arguments.done', { ...at, arguments: item.arguments }],
        done,
      ];
    }
    case 'custom_tool_call':
      return [
        added({ ...item, status: 'in_progress', input: '' }),
        ['response.custom_tool_call_input.delta', { ...at, delta: item.input }],
        ['response.custom_tool_call_input.done', { ...at, input: item.input }],
        done,
      ];
    default:
      return [added(item), done];
  }
}

function frames(plan: Plan, context: ReplyContext): string[] {
  const items = itemsOf(plan, context);
  const started: Event[] = [
    ['response.created', { response: responseOf(plan, context, 'in_progress') }],
    ['response.in_progress', { response: responseOf(plan, context, 'in_progress') }],
    ...items.flatMap((item, at) => itemEvents(item, at, plan)),
  ];
  const error = { code: 'server_error', message: 'The server had an error, practice' };
  const ended: Event[] = context.breaks
    ? [['response.failed', { response: { ...responseOf(plan, context, 'failed'), error } }]]
    : [['response.completed', { response: responseOf(plan, context, 'completed') }]];
  const all = context.breaks ? [...started.slice(0, 6), ...ended] : [...started, ...ended];
  return all.map(([type, members], sequence_number) => named(type, { type, sequence_number, ...members }));
}

export const responsesWireWith = (thinks: (model: string, body: Json) => boolean): Wire => ({
  id: 'openai-responses',
  receive: (body, stream, model) => receive(body, stream, thinks(model, body)),
  callId: idWith('call_', 24),
  whole: (plan, context) => responseOf(plan, context, 'completed'),
  frames,
  contentType: events,
});

export const responsesWire = responsesWireWith(
  (model, body) =>
    /^(?:o\d|gpt-[5-9])/.test(model) && !model.includes('chat') && record(body.reasoning)?.effort !== 'none',
);
