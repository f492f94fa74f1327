/** What an access token may do: everything, reading alone, or one area of the API. */
import type { Endpoint } from './endpoint.ts';

/** Areas by the nouns of endpoint ids. What belongs to none is the account itself: no scope reaches it. */
const areas = {
  channels: ['channel', 'route', 'model', 'virtual_model'],
  // A program that is signed in is one of its user's keys.
  tokens: ['token', 'chat', 'sign_in'],
  users: ['user', 'second_factor'],
  logs: ['log', 'usage', 'traffic', 'drawing', 'task', 'audit'],
  billing: ['redemption', 'wallet', 'affiliate', 'pricing', 'statement', 'budget', 'invoice', 'link'],
  settings: ['option', 'ratio', 'provision', 'group', 'status', 'update', 'setup'],
} as const satisfies Record<string, readonly string[]>;

export type Area = keyof typeof areas;
const areaNames = Object.keys(areas) as Area[];

/** `channels` = read and change channels; `channels:read` = read them. */
export type Scope = 'read' | 'write' | Area | `${Area}:read`;
export const scopes: readonly Scope[] = [
  'read',
  'write',
  ...areaNames.flatMap((area): Scope[] => [area, `${area}:read`]),
];
export const isScope = (text: string): text is Scope => (scopes as readonly string[]).includes(text);

/** Calls about the caller's own ways in, and about the whole machine. */
const ofAccount =
  /^(user\.(update_self|close_self|access_token|access_token_get)|second_factor\.(?!reset$)\w+|sign_in\.(look|decide|authorize)|setup\.run|audit\.undo)$/;

export function areaOf({ id }: Pick<Endpoint, 'id'>): Area | null {
  if (ofAccount.test(id)) return null;
  const noun = id.split('.')[0] ?? '';
  return areaNames.find((area) => (areas[area] as readonly string[]).includes(noun)) ?? null;
}

/** Their scopes follow from the sections of the file that they bring. */
const byContent: readonly string[] = ['provision.apply', 'provision.diff'];

/** @param changes the call alters state. */
export function scopesAllow(granted: readonly string[], row: Pick<Endpoint, 'id'>, changes: boolean): boolean {
  if (byContent.includes(row.id))
    return !changes || granted.some((scope) => scope !== 'read' && !scope.endsWith(':read'));
  const area = areaOf(row);
  if (changes) return area !== null && (granted.includes('write') || granted.includes(area));
  if (granted.includes('read') || granted.includes('write')) return true;
  return area !== null && (granted.includes(area) || granted.includes(`${area}:read`));
}
