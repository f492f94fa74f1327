/** What the practice upstream answers when tools or a schema are asked for: the call or the JSON that a model would give. */
import type { ChatEvent, ChatRequest, ProtocolId } from '../protocols/canonical.ts';
import { codecs } from '../protocols/registry.ts';
import { emptyUsage } from '../protocols/shared/usage.ts';
import type { ResponseContent } from './dialects.ts';
import { sample } from './sample.ts';

const words = ['practice'];

function eventsFor(request: ChatRequest, content: ResponseContent): ChatEvent[] | null {
  const [tool] = request.tools.filter(({ kind }) => kind !== 'provider');
  const answered = request.messages.at(-1)?.role === 'tool';
  const usage: ChatEvent = {
    type: 'usage',
    usage: { ...emptyUsage, input: Math.max(1, Math.ceil(content.size / 4)), output: content.chunks },
  };
  const start: ChatEvent = { type: 'response-start', id: null, model: content.model, created: null };
  const counted = content.noUsage ? [] : [usage];
  if (tool !== undefined && !answered && request.toolChoice !== 'none') {
    const text = tool.kind === 'custom' ? 'practice' : JSON.stringify(sample(tool.schema, words));
    const half = Math.ceil(text.length / 2);
    return [
      start,
      {
        type: 'tool-call-start',
        index: 0,
        id: 'call_practice',
        name: tool.name,
        ...(tool.kind === 'custom' ? { custom: true } : {}),
      },
      { type: 'tool-call-delta', index: 0, arguments: text.slice(0, half) },
      ...(half < text.length ? [{ type: 'tool-call-delta' as const, index: 0, arguments: text.slice(half) }] : []),
      { type: 'tool-call-end', index: 0 },
      ...counted,
      { type: 'finish', reason: { unified: 'tool_calls', raw: null } },
    ];
  }
  if (request.responseFormat === null) return null;
  const value =
    request.responseFormat.type === 'json' ? { practice: true } : sample(request.responseFormat.schema, words);
  return [
    start,
    { type: 'text-start', index: 0 },
    { type: 'text-delta', index: 0, text: JSON.stringify(value) },
    { type: 'text-end', index: 0 },
    ...counted,
    { type: 'finish', reason: { unified: 'stop', raw: null } },
  ];
}

/** @returns the whole answer or its stream as text, null when nothing special was asked for. */
export function specialAnswer(
  dialect: ProtocolId,
  body: Readonly<Record<string, unknown>>,
  content: ResponseContent,
  stream: boolean,
): string | null {
  const { translation, client } = codecs[dialect];
  let events: ChatEvent[] | null;
  try {
    events = eventsFor(translation.decodeRequest(body, { model: content.model, stream }), content);
  } catch {
    return null;
  }
  if (events === null) return null;
  const context = { model: content.model, responseId: 'practice', created: 1, includeUsage: content.includeUsage };
  if (!stream) return JSON.stringify(translation.encodeResponse(events, context));
  const writer = translation.writer(context);
  const text = events.map((event) => writer.write(event)).join('');
  const shape = client.transform?.('') ?? null;
  return shape === null ? text : shape.push(text) + shape.end();
}
