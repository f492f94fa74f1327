/** Answers in the form of generateContent, whole. */
import type { ChatEvent, FinishReason, Part, ProtocolId } from '../canonical.ts';
import type { ResponseContext } from '../codec.ts';
import { collect } from '../shared/blocks.ts';
import { markSignature } from '../shared/signature.ts';
import { argumentsObject, wrapCustom } from '../shared/tools.ts';
import { encodeGrounding } from './grounding.ts';
import { encodeUsage } from './usage.ts';

/** A call ends with STOP too: the dialect has no word for it. */
export function finishWord(reason: FinishReason): string {
  switch (reason.unified) {
    case 'length':
      return 'MAX_TOKENS';
    case 'content_filter':
    case 'refusal':
      return 'SAFETY';
    case 'error':
      return 'OTHER';
    default:
      return 'STOP';
  }
}

interface Signed {
  readonly signature?: string | null;
  readonly redacted?: string | null;
  readonly origin?: ProtocolId;
}

const signatureFields = (part: Signed): Record<string, unknown> => {
  const signature = part.signature ?? part.redacted ?? null;
  return signature === null ? {} : { thoughtSignature: markSignature(signature, part.origin, 'gemini-generate') };
};

export function encodePart(part: Part): Record<string, unknown>[] {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'reasoning':
      if (part.text === '' && part.signature === null && part.redacted === null) return [];
      return [{ text: part.text, thought: true, ...signatureFields(part) }];
    case 'tool-call': {
      const words = part.custom === true ? wrapCustom(part.arguments) : part.arguments;
      return [
        { functionCall: { id: part.id, name: part.name, args: argumentsObject(words) }, ...signatureFields(part) },
      ];
    }
    case 'image':
    case 'audio':
    case 'file':
      if (part.source.kind === 'id') return [];
      return part.source.kind === 'base64'
        ? [{ inlineData: { mimeType: part.source.mimeType, data: part.source.data } }]
        : [{ fileData: { mimeType: part.source.mimeType ?? 'image/png', fileUri: part.source.url } }];
    default:
      return [];
  }
}

export function encodeResponse(events: readonly ChatEvent[], context: ResponseContext): unknown {
  const { parts, finish, usage, id } = collect(events);
  const grounding = encodeGrounding(
    parts.flatMap((part) =>
      part.type !== 'text'
        ? []
        : [{ words: part.text, ...(part.citations === undefined ? {} : { citations: part.citations }) }],
    ),
  );
  return {
    candidates: [
      {
        content: { role: 'model', parts: parts.flatMap(encodePart) },
        finishReason: finishWord(finish),
        index: 0,
        ...(grounding === null ? {} : { groundingMetadata: grounding }),
      },
    ],
    ...(usage === null ? {} : { usageMetadata: encodeUsage(usage) }),
    modelVersion: context.model,
    responseId: id ?? context.responseId,
  };
}
