/** Answers in the form of a response, whole. */
import type { ChatEvent } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { mediaMarkdown } from '../shared/media.ts';
import { madeOf } from './references.ts';
import { callItem, type Item, messageItem, responseObject, statusOf, textPart, thoughtItem } from './response.ts';

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage } = collect(events);
  const output: Item[] = [];
  const idOf = (kind: string) => `${kind}_${context.responseId}_${output.length}`;
  for (const part of parts) {
    if (part.type === 'text' && part.text !== '')
      output.push(messageItem(idOf('msg'), [textPart(part.text, part.citations)]));
    else if (part.type === 'refusal') output.push(messageItem(idOf('msg'), [{ type: 'refusal', refusal: part.text }]));
    else if (part.type === 'reasoning') output.push(thoughtItem(idOf('rs'), part));
    else if (part.type === 'tool-call') output.push(callItem(idOf('fc'), part));
    else if (part.type === 'unknown' && part.dialect === 'openai-responses') output.push(part.raw as Item);
    else if (part.type === 'image' || part.type === 'file')
      output.push(messageItem(idOf('msg'), [textPart(mediaMarkdown(part))]));
  }
  context.made?.(() => madeOf(output));
  return responseObject(context, statusOf(finish, output), { output, usage, reason: finish });
}
