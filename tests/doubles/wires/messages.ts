/** Anthropic's Messages as their maker answers them: signed thoughts, calls in pieces, usage with its iterations. */
import { type Json, list, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, idWith, type Plan, torn } from '../plan.ts';
import { events, named, type ReplyContext, type Wire } from '../wire.ts';

type Item = Record<string, unknown>;

export const thoughtOf = (body: Json): 'off' | 'told' | 'hidden' => {
  const thinking = record(body.thinking);
  if (thinking?.type !== 'enabled' && thinking?.type !== 'adaptive') return 'off';
  return thinking.display === 'omitted' ? 'hidden' : 'told';
};

function receive(body: Json, stream: boolean): Heard {
  const choice = record(body.tool_choice);
  const format = record(record(body.output_config)?.format);
  const last = records(body.messages).at(-1);
  return {
    tools: records(body.tools).flatMap(({ name, input_schema, type }) =>
      typeof name === 'string' && (type === undefined || type === 'custom') ? [{ name, schema: input_schema }] : [],
    ),
    choice:
      choice?.type === 'tool'
        ? { name: String(choice.name) }
        : choice?.type === 'any'
          ? 'required'
          : choice?.type === 'none'
            ? 'none'
            : 'auto',
    parallel: choice?.disable_parallel_tool_use !== true,
    answered: list(last?.content).some((block) => record(block)?.type === 'tool_result'),
    schema: format === null ? undefined : (format.schema ?? null),
    thinks: thoughtOf(body) !== 'off',
    stream,
    usageFrame: false,
  };
}

function blocksOf(plan: Plan, { seals, body }: ReplyContext): Item[] {
  const text = plan.thoughts.join('');
  const shown = thoughtOf(body) === 'hidden' ? '' : text;
  const thoughts = text === '' ? [] : [{ type: 'thinking', thinking: shown, signature: seals.sign('thinking', shown) }];
  const calls = plan.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }));
  return [...thoughts, { type: 'text', text: plan.words.join('') }, ...calls];
}

function usageOf({ usage }: Plan, output: number, { overCached }: ReplyContext): Item {
  const fresh = usage.prompt - usage.cached;
  const counts = {
    input_tokens: overCached ? 0 : fresh,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: overCached ? usage.prompt : usage.cached,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens: output,
  };
  return { ...counts, service_tier: 'standard', iterations: [{ type: 'message', ...counts }] };
}

function messageOf(plan: Plan, context: ReplyContext): Item {
  return {
    id: 'msg_practice',
    type: 'message',
    role: 'assistant',
    model: context.model,
    content: blocksOf(plan, context),
    stop_reason: plan.calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: usageOf(plan, plan.usage.output, context),
  };
}

function piecesOf(block: Item, plan: Plan): Item[] {
  switch (block.type) {
    case 'thinking':
      return [
        ...(block.thinking === '' ? [] : plan.thoughts.map((thinking) => ({ type: 'thinking_delta', thinking }))),
        { type: 'signature_delta', signature: block.signature },
      ];
    case 'text':
      return plan.words.map((text) => ({ type: 'text_delta', text }));
    default:
      return ['', ...torn(block.input)].map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  }
}

const emptied: Readonly<Record<string, Item>> = {
  thinking: { thinking: '', signature: '' },
  text: { text: '' },
  tool_use: { input: {} },
};

function frames(plan: Plan, context: ReplyContext): string[] {
  const event = (type: string, more: Item = {}) => named(type, { type, ...more });
  const message = messageOf(plan, context);
  const stream = [
    event('message_start', {
      message: { ...message, content: [], stop_reason: null, usage: usageOf(plan, 1, context) },
    }),
    event('ping'),
  ];
  for (const [index, block] of blocksOf(plan, context).entries()) {
    stream.push(event('content_block_start', { index, content_block: { ...block, ...emptied[String(block.type)] } }));
    for (const delta of piecesOf(block, plan)) stream.push(event('content_block_delta', { index, delta }));
    stream.push(event('content_block_stop', { index }));
  }
  if (context.breaks)
    return [
      ...stream.slice(0, 6),
      event('error', {
        error: { type: 'overloaded_error', message: 'Overloaded, practice' },
        request_id: 'req_practice',
      }),
    ];
  const { stop_reason, stop_sequence, usage } = message;
  return [...stream, event('message_delta', { delta: { stop_reason, stop_sequence }, usage }), event('message_stop')];
}

export const messagesWire: Wire = {
  id: 'anthropic-messages',
  receive,
  callId: idWith('toolu_01', 22),
  whole: messageOf,
  frames,
  contentType: events,
};
