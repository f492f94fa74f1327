/** Channels of one tag as one row. Pure. */
import type { Channel } from '../../../server/contract/entities.ts';

export interface TagRow {
  /** Negative: no channel's. */
  readonly id: number;
  /** '' = channels without a tag. */
  readonly tag: string;
  readonly channels: readonly Channel[];
  readonly enabled: number;
  readonly used: number;
  /** null = they differ. */
  readonly priority: number | null;
  readonly weight: number | null;
  readonly groups: readonly string[];
  /** Mean of the tested ones in milliseconds, 0 = none was. */
  readonly response: number;
}

/** @returns the common value; null where they differ. */
const same = (values: readonly number[]): number | null =>
  values.every((value) => value === values[0]) ? (values[0] ?? null) : null;

export function tagRows(channels: readonly Channel[]): TagRow[] {
  const tags = new Map<string, Channel[]>();
  for (const channel of channels) tags.set(channel.tag, [...(tags.get(channel.tag) ?? []), channel]);
  return [...tags]
    .sort(([one], [other]) => Number(one === '') - Number(other === '') || one.localeCompare(other))
    .map(([tag, inside], index) => {
      const tested = inside.filter(({ response_time: ms }) => ms > 0);
      return {
        id: -1 - index,
        tag,
        channels: inside,
        enabled: inside.filter(({ status }) => status === 1).length,
        used: inside.reduce((sum, { used_quota: used }) => sum + used, 0),
        priority: same(inside.map(({ priority }) => priority)),
        weight: same(inside.map(({ weight }) => weight)),
        groups: [...new Set(inside.flatMap(({ group }) => group.split(',')))].sort(
          (one, other) => Number(other === 'default') - Number(one === 'default') || one.localeCompare(other),
        ),
        response:
          tested.length === 0
            ? 0
            : Math.round(tested.reduce((sum, { response_time: ms }) => sum + ms, 0) / tested.length),
      };
    });
}
