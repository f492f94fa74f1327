/** Which members of a request can go without anybody noticing: the upstream gets the same and the log says the same. */
import type { ProtocolId } from '../../server/protocols/canonical.ts';
import { codecs } from '../../server/protocols/registry.ts';

export interface RequestBody {
  readonly from: ProtocolId;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Members by path, `*` = any item of a list, and why their loss does no harm. */
export type Reasons = readonly (readonly [place: RegExp, reason: string])[];

export const harmless: Reasons = [
  [/^(model|stream)$/, 'outside of the body'],
  [/(^|\.)role$/, 'the only one that fits the place'],
  [/(^|\.)(type|media_type|mimeType)$/, 'follows from what stands beside it'],
  [/cache_control(\.type|\.ttl)?$/, 'the others cache by themselves; of two lifetimes the longer is asked for'],
  [
    /^(store|include|stream_options(\.include_usage)?|metadata(\..*)?|client_metadata(\..*)?)$/,
    'bookkeeping of the client',
  ],
  [/internal_chat_message_metadata_passthrough/, 'bookkeeping of the client'],
  [/^input\.\*\.(id|status)$/, 'names that only the maker knows'],
  [/^thinking(\.type|\.display)?$/, 'adaptive is how the others think'],
  [
    /^(reasoning\.summary|generationConfig\.thinkingConfig\.includeThoughts)$/,
    'thoughts are shown wherever there are any',
  ],
  [/^messages\.\*\.content\.\*\.(thinking|signature|data)$/, 'the thought is listed as a whole'],
  [/^messages\.\*\.content\.\*\.input_audio$/, 'the sound is listed as a whole'],
  [
    /^tools\.\*\.(execution|description|external_web_access|search_content_types)$/,
    'the hosted tool is listed as a whole',
  ],
  [/^max_(output_)?tokens$/, 'raised to what the wished thinking takes'],
  [/^messages\.\*\.reasoning_(content|details.*)$/, 'the thought is listed as a whole'],
  [/^contents\.\*\.parts\.\*\.(text|thought|thoughtSignature)$/, 'the thought is listed as a whole'],
  [/^input\.\*\.(summary(\.\*\.text)?|encrypted_content)$/, 'the thought is listed as a whole'],
  [/^(messages|input)\.\*\.content$/, 'empty'],
  [/^input\.\*\.content\.\*\.annotations$/, 'empty'],
  [/^tools$|^generationConfig$/, 'empty'],
  [/^tools\.\*\.(defer_loading|eager_input_streaming)$/, 'hints about loading: every tool is sent in full'],
  [/\.(input_schema|parameters|parametersJsonSchema)(\.properties|\.\$schema)?$/, 'a tool without arguments'],
  [/functionResponse\.(id|name)$/, 'results belong to their calls in order'],
  [/^generationConfig\.(responseMimeType)$/, 'follows from the schema'],
  [/^generationConfig\.(temperature|topP)$/, 'the default, or listed beside the other'],
  [
    /^toolConfig\.functionCallingConfig\.allowedFunctionNames$/,
    'calls cannot be forced while thinking, which is listed',
  ],
  [/[sS]chema\.(.*\.)?additionalProperties$/, 'objects are closed, whatever a schema says'],
  [/(json_schema|format)\.(name|strict)$/, 'schemas are enforced and need no name'],
  [/^(parallel_tool_calls|tool_choice|toolConfig)$/, 'the default'],
  [/\.strict$/, 'the default'],
  [/\.detail$/, 'the default'],
  [/input_audio\.format$/, 'the default'],
];

export const isHarmless = (place: string, reasons: Reasons): boolean => reasons.some(([known]) => known.test(place));

/** The request as an upstream of the other dialect gets it, and what is listed as lost. */
export function send(
  from: ProtocolId,
  to: ProtocolId,
  body: unknown,
): { readonly encoded: string; readonly listed: string } {
  const dropped: string[] = [];
  try {
    const requested = codecs[from].translation.decodeRequest(body as Record<string, unknown>, {
      model: 'm',
      stream: true,
    });
    const encoded = JSON.stringify(codecs[to].translation.encodeRequest(requested, dropped));
    return { encoded, listed: JSON.stringify(dropped) };
  } catch (error) {
    return { encoded: String(error), listed: '' };
  }
}

/** Parts and tools that are listed as wholes. */
const wholes = (listed: string): number => listed.split('cannot be sent to the upstream').length;

type Change = (edit: (node: unknown) => unknown) => unknown;

/**
 * @param itemName how an item of a list is called in a place.
 * @returns places of the members that can go without anybody noticing.
 */
export function silentLosses(
  { from, body }: RequestBody,
  to: ProtocolId,
  itemName: (item: unknown) => string = () => '*',
): string[] {
  const whole = send(from, to, body);
  const lost = new Set<string>();
  const walk = (node: unknown, path: readonly string[], change: Change): void => {
    if (typeof node !== 'object' || node === null || path.length > 7) return;
    for (const [key, member] of Object.entries(node)) {
      const inList = Array.isArray(node);
      const place = [...path, inList ? itemName(member) : key];
      const edit: Change = (inner) =>
        change((outer) =>
          Array.isArray(outer)
            ? outer.with(Number(key), inner(outer[Number(key)]))
            : { ...(outer as object), [key]: inner((outer as Record<string, unknown>)[key]) },
        );
      if (!inList) {
        const without = send(
          from,
          to,
          change((outer) => Object.fromEntries(Object.entries(outer as object).filter(([name]) => name !== key))),
        );
        if (without.encoded === whole.encoded) {
          if (without.listed === whole.listed && member !== '' && member !== undefined) lost.add(place.join('.'));
          // What is in it goes with it: it was listed, or its place is below.
          continue;
        }
      } else if (typeof member === 'object') {
        const without = send(
          from,
          to,
          change((outer) => (outer as readonly unknown[]).filter((_, at) => at !== Number(key))),
        );
        // The item is listed as a whole.
        if (without.encoded === whole.encoded && without.listed !== whole.listed) continue;
        if (wholes(whole.listed) > wholes(without.listed)) continue;
      }
      walk(member, place, edit);
    }
  };
  walk(body, [], (edit) => edit(body));
  return [...lost];
}
