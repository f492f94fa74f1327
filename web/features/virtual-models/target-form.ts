/** Targets of a virtual model as a form holds them. Pure. */
import { parseNumber } from '../../../server/contract/amount.ts';
import type { OutputOf } from '../../../server/contract/endpoint.ts';
import type { EndpointOf } from '../../../server/contract/endpoints/index.ts';
import {
  type ChainTarget,
  maxPrompt,
  type RequestClass,
  type TargetFailure,
} from '../../../server/contract/virtual-models.ts';
import { numberIn, valueIn } from '../../components/amount.ts';

export type VirtualModelRow = OutputOf<EndpointOf<'virtual_model.get'>>;

export interface TypedTarget {
  /** Tells it from the others wherever it is moved to. */
  readonly key: number;
  readonly model: string;
  /** '' = any. */
  readonly channel: string;
  /** '' = that of the key. */
  readonly group: string;
  readonly after: readonly TargetFailure[];
  readonly over: string;
  readonly upTo: string;
  /** '' = both with and without. */
  readonly images: '' | 'true' | 'false';
  readonly thinking: '' | 'true' | 'false';
  readonly classes: readonly RequestClass[];
  /** Separated by commas. */
  readonly agents: string;
}

export const promptBounds = { integer: true, min: 0, max: maxPrompt } as const;

const flagText = (flag: boolean | undefined): TypedTarget['images'] =>
  flag === undefined ? '' : flag ? 'true' : 'false';
const tokenText = (tokens: number | undefined): string => (tokens === undefined ? '' : numberIn(tokens));

export const typedTarget = (target: Partial<ChainTarget>, key: number): TypedTarget => ({
  key,
  model: target.model ?? '',
  channel: target.channel === undefined ? '' : String(target.channel),
  group: target.group ?? '',
  after: target.after ?? [],
  over: tokenText(target.prompt_over),
  upTo: tokenText(target.prompt_up_to),
  images: flagText(target.images),
  thinking: flagText(target.thinking),
  classes: target.classes ?? [],
  agents: target.agent_types?.join(', ') ?? '',
});

const flagIn = (text: TypedTarget['images']): boolean | undefined => (text === '' ? undefined : text === 'true');
const tokensIn = (text: string): number | undefined =>
  text.trim() === '' ? undefined : valueIn(parseNumber(text, promptBounds));

/** @param typed whose numbers can be read. */
export function targetIn(typed: TypedTarget): ChainTarget {
  const agents = typed.agents
    .split(/[,，]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const members = {
    model: typed.model.trim(),
    channel: typed.channel === '' ? undefined : Number(typed.channel),
    group: typed.group.trim() || undefined,
    after: typed.after.length === 0 ? undefined : typed.after,
    prompt_over: tokensIn(typed.over),
    prompt_up_to: tokensIn(typed.upTo),
    images: flagIn(typed.images),
    thinking: flagIn(typed.thinking),
    classes: typed.classes.length === 0 ? undefined : typed.classes,
    agent_types: agents.length === 0 ? undefined : agents,
  };
  return Object.fromEntries(Object.entries(members).filter(([, one]) => one !== undefined)) as unknown as ChainTarget;
}

/** @returns which target and which member of it a refusal is about: `targets[1].group` is the second's group. */
export function placeIn(field: string): { readonly at: number; readonly member: string } | null {
  const found = /^targets\[(\d+)\](?:\.(\w+))?$/.exec(field);
  return found === null ? null : { at: Number(found[1]), member: found[2] ?? 'model' };
}
