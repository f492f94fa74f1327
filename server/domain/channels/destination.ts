/** Where a stored key is sent. A change of that needs the key itself: otherwise a user could point the channel at their own server and read the key there. */
import type { ChannelRow } from '../../../db/repositories/channels.ts';

export type Destination = Pick<ChannelRow, 'type' | 'base_url' | 'other' | 'setting'>;

/** Members of `setting` that decide which host is called, or how the key is sent; others shape requests. */
const isDestination = /proxy|header|url|uri|address|host|origin|endpoint|auth|key(?!_mode$)/i;

/** @returns names of the fields that would send the stored key elsewhere, as the wire calls them. */
export function destinationChanges(stored: Destination, changes: Partial<Destination>): string[] {
  const { type, base_url: base, other, setting } = { ...stored, ...changes };
  return [
    ...(type === stored.type ? [] : ['type']),
    ...(placeOf(base) === placeOf(stored.base_url) ? [] : ['base_url']),
    // Regions and versions are words; anything else could leave the place of an address that is made from it.
    ...(other !== stored.other && /[/\\@?#]/.test(other) ? ['other'] : []),
    ...(leading(setting) === leading(stored.setting) ? [] : ['setting']),
  ];
}

/** Not the origin alone: where many share a host, the path says who listens. A version at the end says nothing. */
function placeOf(base: string): string {
  const plain = base.trim().replace(/\/+$/, '');
  const text = plain.replace(/\/v\d+(beta)?$/, '');
  return URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : text;
}

function leading(setting: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(setting || '{}');
  } catch {
    return setting;
  }
  const members = Object.entries(Object(parsed) as object).filter(
    ([name, value]) => isDestination.test(name) && value !== '' && value !== null,
  );
  return JSON.stringify(members.sort(([one], [two]) => (one < two ? -1 : 1)));
}
