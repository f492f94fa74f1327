/** How a request would go out to a channel: read and prepared by what sends it, with a mark in place of the key. */
import { AppError } from '../contract/errors.ts';
import { keyMark } from '../contract/header-override.ts';
import type { PreviewedCall, PreviewedRequest } from '../domain/channels/service.ts';
import { parseJson, record } from '../protocols/shared/json.ts';
import type { RelayCore } from './core.ts';
import { parse } from './intake/parse.ts';
import { relayRouteFor } from './intake/routes.ts';
import { prepare } from './upstream/prepare.ts';

export interface PreviewOrder extends PreviewedRequest {
  readonly channelId: number;
  /** The name of the target to which a virtual model leads; '' = as the request says. */
  readonly model: string;
}

/** Members of a key in JSON that are part of addresses. */
const shownMembers: ReadonlySet<string> = new Set(['type', 'project_id']);

/** A key of the same form that shows nothing of it. */
function markedKey(key: string): string {
  const members = key.trimStart().startsWith('{') ? record(parseJson(key)) : null;
  if (members === null) return key.split('|').fill(keyMark).join('|');
  const marked = Object.entries(members).map(([name, value]) => [name, shownMembers.has(name) ? value : keyMark]);
  return JSON.stringify(Object.fromEntries(marked));
}

/** @throws AppError route_unknown, not_found, channel_unavailable, and as the request would be refused with. */
export async function previewCall(
  core: RelayCore,
  { channelId, path, body, headers, model }: PreviewOrder,
): Promise<PreviewedCall> {
  const matched = relayRouteFor(path.split('?', 1)[0] ?? '');
  if (matched === undefined || matched.route.body === 'form')
    throw new AppError('route_unknown', { method: 'POST', path });
  const channel = core.state.channel(channelId);
  if (channel === undefined) throw new AppError('not_found', { what: `channel ${channelId}` });
  const request = new Request(`http://relay${path}`, {
    method: 'POST',
    body,
    headers: { ...headers, 'content-type': 'application/json' },
  });
  const read = await parse(request, matched, {
    requestId: '',
    startedMs: core.now(),
    bodyLimit: core.bodyLimit,
    encryptedBlob: core.encryptedBlob,
  });
  const parsed = model === '' ? read : { ...read, model };
  const without = core.learnt.without(channelId, () => null, null);
  const variant = { unsigned: false, summary: false, without };
  const key = { key: markedKey(channel.keys[0] ?? ''), index: 0 };
  const prepared = prepare(parsed, channel, key, core.state.settings, variant);
  if (prepared instanceof Error) throw prepared;
  if (prepared === null) throw new AppError('channel_unavailable', { group: '', model: parsed.model });
  const { call, upstreamModel, dialect, translated, dropped, auth } = prepared;
  return {
    url: call.url,
    headers: call.headers,
    body: call.body === null || typeof call.body === 'string' ? call.body : new TextDecoder().decode(call.body),
    upstreamModel,
    dialect,
    translated,
    signed: auth !== undefined,
    dropped,
  };
}
