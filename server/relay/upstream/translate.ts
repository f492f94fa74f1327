/** Translates a chat into an upstream's dialect or wire format, and lists the changes of its response besides the dialect. */
import type { ChatEvent, ChatRequest } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { writtenTool } from '../../protocols/shared/model-limits.ts';
import { toolRestorer } from '../../protocols/shared/restore.ts';
import type { Signing } from '../../protocols/shared/signature.ts';
import { taggedThoughts } from '../../protocols/shared/tagged-thoughts.ts';
import { portableName } from '../../protocols/shared/tools.ts';
import { writtenCall } from '../../protocols/shared/written-call.ts';
import type { Translate } from '../../routing/body.ts';
import type { SentModifiers } from '../../routing/offers.ts';
import type { Target } from '../../routing/target.ts';
import { withoutModifiers } from '../admission/modifiers.ts';
import { exactBody, type ParsedRequest } from '../intake/parsed-request.ts';
import { withoutForeign } from './foreign-blocks.ts';

type Members = Readonly<Record<string, unknown>>;
export type Change = (event: ChatEvent) => readonly ChatEvent[];

const decodedRequests = new WeakMap<ParsedRequest, ChatRequest>();

/** A request is decoded once, however many channels it is tried at. @throws AppError body_invalid. */
function decodedRequest(parsed: ParsedRequest): ChatRequest {
  const known = decodedRequests.get(parsed);
  if (known !== undefined) return known;
  const decoded = codecFor(parsed.protocol).translation.decodeRequest(exactBody(parsed), {
    model: parsed.model,
    stream: parsed.stream,
  });
  decodedRequests.set(parsed, decoded);
  return decoded;
}

interface EncodedRequest {
  readonly parsed: ParsedRequest;
  readonly modifiers: SentModifiers;
  readonly signing: Signing;
  readonly dropped: string[];
}

/** @throws AppError body_invalid. */
export function translatedBody(
  { place }: Target,
  translate: Translate,
  { parsed, modifiers, signing, dropped }: EncodedRequest,
): Members {
  const body = translate.encode(decodedRequest(parsed), parsed.ceiling, dropped);
  if (modifiers.removed.length > 0) dropped.push(...withoutModifiers(body, modifiers));
  const signed = translate.checksSignatures ? withoutForeign(body, place.dialect, signing, dropped) : body;
  return translate.finish(signed, dropped);
}

const unrequestedThoughts = '/reasoning: thoughts that were not asked for are left out';

/** @returns how much of the thoughts the client gets. */
function thoughtsFor({ channel, suffix }: Target, parsed: ParsedRequest): 'words' | 'seals' | 'nothing' {
  // The operator wants them among the words of the answer.
  if (channel.setting.thinking_to_content === true) return 'words';
  if (suffix !== null && suffix.budget !== 0 && suffix.effort !== 'none') return 'words';
  return codecFor(parsed.protocol).definition.thoughts?.(parsed.body) ?? 'words';
}

/** As the client's own provider does it. */
const withoutThoughts = (retained: 'seals' | 'nothing', dropped: string[]): Change => {
  let isNoted = false;
  return (event) => {
    if (event.type === 'reasoning-delta') {
      if (!isNoted && !dropped.includes(unrequestedThoughts)) dropped.push(unrequestedThoughts);
      isNoted = true;
      return [];
    }
    return retained === 'nothing' && (event.type === 'reasoning-start' || event.type === 'reasoning-end')
      ? []
      : [event];
  };
};

/** Names of tools, calls that were written as words, thoughts between marks or not asked for. @param dropped receives what an answer held and its client did not ask for. @returns what makes the changes of one answer; null = there are none. */
export function answerChange(target: Target, parsed: ParsedRequest, dropped: string[]): (() => Change) | null {
  const request = decodedRequest(parsed);
  const makers: (() => Change)[] = target.taggedThoughts ? [taggedThoughts] : [];
  const written = request.tools.length === 0 ? undefined : writtenTool(request, target.known);
  if (written !== undefined) makers.push(() => writtenCall(portableName(written.name), `call_${parsed.requestId}`));
  const thoughts = target.known.thinking === 'none' ? 'words' : thoughtsFor(target, parsed);
  if (thoughts !== 'words') makers.push(() => withoutThoughts(thoughts, dropped));
  const restorer = toolRestorer(request.tools);
  if (restorer !== null) makers.push(restorer);
  const [first, ...more] = makers;
  if (first === undefined) return null;
  return () =>
    more.map((make) => make()).reduce<Change>((before, next) => (event) => before(event).flatMap(next), first());
}
