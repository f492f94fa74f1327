/** What must change in an answer besides its dialect: names of tools, calls that were written as words, thoughts between marks or not asked for. */

import type { ChannelSnapshot } from '../../contract/snapshot.ts';
import type { ChatEvent, ProtocolId } from '../../protocols/canonical.ts';
import { codecFor } from '../../protocols/registry.ts';
import { writtenTool } from '../../protocols/shared/fit.ts';
import { toolRestorer } from '../../protocols/shared/restore.ts';
import { taggedThoughts } from '../../protocols/shared/tagged-thoughts.ts';
import { portableName } from '../../protocols/shared/tools.ts';
import { writtenCall } from '../../protocols/shared/written-call.ts';
import type { ModelSuffix } from '../../protocols/traits.ts';
import { straysFrom } from '../../providers/knowledge/answers.ts';
import { targetFor } from '../../providers/knowledge/target.ts';
import type { Provider } from '../../providers/provider.ts';
import type { Inquiry } from '../intake/inquiry.ts';
import type { RelaySettings } from '../state/settings.ts';
import { decodedRequest } from './body.ts';

type Change = (event: ChatEvent) => readonly ChatEvent[];

export interface AnswerFacts {
  readonly inquiry: Inquiry;
  readonly provider: Provider;
  readonly dialect: ProtocolId;
  readonly upstreamModel: string;
  readonly translated: boolean;
  readonly settings: RelaySettings;
  readonly channel: ChannelSnapshot;
  /** What the model's name asks for. */
  readonly suffix: ModelSuffix | null;
}

export interface AnswerChanges {
  /** Makes the changes of one answer; null = there are none. */
  readonly restore: (() => Change) | null;
  /** The answer is told anew although its upstream speaks the client's dialect. */
  readonly retold: boolean;
}

const none: AnswerChanges = { restore: null, retold: false };

const unasked = '/reasoning: thoughts that were not asked for are left out';

/** @returns how much of the thoughts the client gets. */
function thoughtsFor({ inquiry, channel, suffix }: AnswerFacts): 'words' | 'seals' | 'nothing' {
  // The operator wants them among the words of the answer.
  if (channel.setting.thinking_to_content === true) return 'words';
  if (suffix !== null && suffix.budget !== 0 && suffix.effort !== 'none') return 'words';
  return codecFor(inquiry.protocol).traits.thoughts?.(inquiry.body) ?? 'words';
}

/** As the client's own provider does it. */
const withoutThoughts =
  (wanted: 'seals' | 'nothing', dropped: string[]): Change =>
  (event) => {
    if (event.type === 'reasoning-delta') {
      if (!dropped.includes(unasked)) dropped.push(unasked);
      return [];
    }
    return wanted === 'nothing' && (event.type === 'reasoning-start' || event.type === 'reasoning-end') ? [] : [event];
  };

/** One answer alone can be told anew, and a client that asked for JSON expects nothing in front of it. @param dropped receives what an answer held and its client did not ask for. */
export function answerChanges(facts: AnswerFacts, dropped: string[]): AnswerChanges {
  const { inquiry, provider, dialect, upstreamModel, translated, settings } = facts;
  if (inquiry.operation !== 'chat') return none;
  const place = { provider: provider.slug, dialect, model: upstreamModel };
  const tagged = straysFrom(place, 'tagged thoughts');
  if (!translated) {
    if (Number(inquiry.body.n ?? 1) > 1) return none;
    const wanted = tagged && inquiry.body.response_format != null;
    return { restore: wanted ? taggedThoughts : null, retold: wanted || straysFrom(place, 'form') };
  }
  const request = decodedRequest(inquiry);
  const target = targetFor(provider.slug, upstreamModel, settings.modelRules);
  const makers: (() => Change)[] = tagged ? [taggedThoughts] : [];
  const written = request.tools.length === 0 ? undefined : writtenTool(request, target);
  if (written !== undefined) makers.push(() => writtenCall(portableName(written.name), `call_${inquiry.requestId}`));
  const thoughts = target.thinking === 'none' ? 'words' : thoughtsFor(facts);
  if (thoughts !== 'words') makers.push(() => withoutThoughts(thoughts, dropped));
  const restorer = toolRestorer(request.tools);
  if (restorer !== null) makers.push(restorer);
  const [first, ...more] = makers;
  if (first === undefined) return none;
  return {
    restore: () =>
      more.map((make) => make()).reduce<Change>((before, next) => (event) => before(event).flatMap(next), first()),
    retold: false,
  };
}
