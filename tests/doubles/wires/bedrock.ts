/** Bedrock's two wires: Claude's own form in AWS's frames, and Converse for everything else. */
import { parseJson, record, records } from '../../../server/protocols/shared/json.ts';
import { awsEvent, awsException, awsStream } from '../aws-frames.ts';
import { type Heard, idWith, type Plan, torn } from '../plan.ts';
import type { ReplyContext, Wire } from '../wire.ts';
import { messagesWire } from './messages.ts';

type Item = Record<string, unknown>;
const overloaded = 'The model is overloaded, practice';

const dataOf = (frame: string | Uint8Array): string =>
  /^data: (.*)$/m.exec(typeof frame === 'string' ? frame : '')?.[1] ?? '';

/** The same events, each in a message of its own; a failure is an exception of the stream. */
export const claudeWire: Wire = {
  ...messagesWire,
  callId: idWith('toolu_bdrk_01', 22),
  contentType: awsStream,
  frames: (plan, context) =>
    messagesWire.frames(plan, context).flatMap((frame) => {
      const text = dataOf(frame);
      const event = record(parseJson(text));
      if (event?.type === 'ping') return [];
      if (event?.type === 'error') return [awsException('serviceUnavailableException', overloaded)];
      const metrics = { 'amazon-bedrock-invocationMetrics': { inputTokenCount: plan.usage.prompt } };
      const json = event?.type === 'message_stop' ? JSON.stringify({ ...event, ...metrics }) : text;
      return [awsEvent('chunk', { bytes: Buffer.from(json).toString('base64'), p: 'abcdefgh' })];
    }),
};

function receive(body: Readonly<Record<string, unknown>>, stream: boolean): Heard {
  const config = record(body.toolConfig);
  const choice = record(config?.toolChoice);
  const named = record(choice?.tool)?.name;
  const last = records(body.messages).at(-1);
  const thinking = record(record(body.additionalModelRequestFields)?.thinking);
  return {
    tools: records(config?.tools).flatMap((tool) => {
      const { name, inputSchema } = record(tool.toolSpec) ?? {};
      return typeof name === 'string' ? [{ name, schema: record(inputSchema)?.json }] : [];
    }),
    choice: typeof named === 'string' ? { name: named } : choice?.any !== undefined ? 'required' : 'auto',
    parallel: true,
    answered: records(last?.content).some((block) => block.toolResult !== undefined),
    schema: undefined,
    thinks: thinking?.type === 'enabled' || record(body.additionalModelRequestFields)?.reasoning_effort !== undefined,
    stream,
    usageFrame: false,
  };
}

const stopOf = (plan: Plan): string => (plan.calls.length > 0 ? 'tool_use' : 'end_turn');

function usageOf({ usage }: Plan): Item {
  const { prompt, cached, output } = usage;
  const counts = { inputTokens: prompt - cached, cacheReadInputTokens: cached, cacheWriteInputTokens: 0 };
  return { ...counts, outputTokens: output, totalTokens: prompt + output };
}

function whole(plan: Plan): Item {
  const text = plan.thoughts.join('');
  const thoughts = text === '' ? [] : [{ reasoningContent: { reasoningText: { text } } }];
  const calls = plan.calls.map(({ id, name, args }) => ({ toolUse: { toolUseId: id, name, input: args } }));
  const content = [...thoughts, { text: plan.words.join('') }, ...calls];
  return {
    output: { message: { role: 'assistant', content } },
    stopReason: stopOf(plan),
    usage: usageOf(plan),
    metrics: { latencyMs: 1 },
  };
}

/** Texts and thoughts have no start of their own. */
function frames(plan: Plan, context: ReplyContext): Uint8Array[] {
  const events: Uint8Array[] = [awsEvent('messageStart', { role: 'assistant' })];
  let contentBlockIndex = 0;
  const block = (deltas: readonly Item[], start?: Item) => {
    if (start !== undefined) events.push(awsEvent('contentBlockStart', { contentBlockIndex, start }));
    for (const delta of deltas) events.push(awsEvent('contentBlockDelta', { contentBlockIndex, delta }));
    events.push(awsEvent('contentBlockStop', { contentBlockIndex }));
    contentBlockIndex++;
  };
  if (plan.thoughts.length > 0) block(plan.thoughts.map((text) => ({ reasoningContent: { text } })));
  block(plan.words.map((text) => ({ text })));
  for (const { id, name, args } of plan.calls)
    block(
      torn(args).map((input) => ({ toolUse: { input } })),
      { toolUse: { toolUseId: id, name } },
    );
  if (context.breaks) return [...events.slice(0, 3), awsException('modelStreamErrorException', overloaded)];
  return [
    ...events,
    awsEvent('messageStop', { stopReason: stopOf(plan) }),
    awsEvent('metadata', { usage: usageOf(plan), metrics: { latencyMs: 1 } }),
  ];
}

export const converseWire: Wire = {
  id: 'converse',
  receive,
  callId: idWith('tooluse_', 22),
  whole,
  frames,
  contentType: awsStream,
};
