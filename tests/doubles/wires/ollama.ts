/** Ollama's own chat: a line of JSON for each piece, calls without ids, arguments as objects. */
import { type Json, record, records } from '../../../server/protocols/shared/json.ts';
import { type Heard, idWith, type Plan } from '../plan.ts';
import type { ReplyContext, Wire } from '../wire.ts';

type Item = Record<string, unknown>;

function receive(body: Json, stream: boolean): Heard {
  return {
    tools: records(body.tools).flatMap((tool) => {
      const { name, parameters } = record(tool.function) ?? {};
      return typeof name === 'string' ? [{ name, schema: parameters }] : [];
    }),
    choice: 'auto',
    parallel: true,
    answered: records(body.messages).at(-1)?.role === 'tool',
    schema: body.format === undefined ? undefined : body.format === 'json' ? null : body.format,
    thinks: body.think !== undefined && body.think !== false,
    stream,
    usageFrame: false,
  };
}

const line = (message: Item, { model }: ReplyContext, more: Item = {}): Item => ({
  model,
  created_at: '2023-11-14T22:13:20Z',
  message: { role: 'assistant', content: '', ...message },
  done: false,
  ...more,
});

const ending = ({ usage }: Plan): Item => ({
  done: true,
  done_reason: 'stop',
  total_duration: 1,
  prompt_eval_count: usage.prompt,
  eval_count: usage.output,
});

const callsOf = (plan: Plan): Item[] => plan.calls.map(({ name, args }) => ({ function: { name, arguments: args } }));

function whole(plan: Plan, context: ReplyContext): Item {
  const calls = callsOf(plan);
  const thinking = plan.thoughts.join('');
  const message = {
    content: plan.words.join(''),
    ...(thinking === '' ? {} : { thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return line(message, context, ending(plan));
}

function frames(plan: Plan, context: ReplyContext): string[] {
  const lines = [
    ...plan.thoughts.map((thinking) => line({ thinking }, context)),
    ...plan.words.map((content) => line({ content }, context)),
    ...callsOf(plan).map((call) => line({ tool_calls: [call] }, context)),
  ];
  const whole = context.breaks
    ? [...lines.slice(0, 2), { error: 'the model failed, practice' }]
    : [...lines, line({}, context, ending(plan))];
  return whole.map((one) => `${JSON.stringify(one)}\n`);
}

export const ollamaWire: Wire = {
  id: 'ollama-chat',
  receive,
  callId: idWith('call_', 8),
  whole,
  frames,
  contentType: 'application/x-ndjson',
};
