/** Channels while nodes are upgraded one after the other: what nodes of an older version would not act on is not saved. */
import type { Database } from '../../../db/open.ts';
import type { ChannelRow } from '../../../db/repositories/channels.ts';
import { isSet, operations } from '../../contract/deferred-changes.ts';
import { objectIn } from '../../contract/stored-object.ts';
import { refuseOlderNodes } from '../nodes/older.ts';

/** Members of `setting` that act since nodes know what their keys are bound to, or a little longer. */
const laterSettings: ReadonlySet<string> = new Set([
  ...['system_messages', 'first_byte_seconds', 'off_after', 'upstream_streams', 'trusted_usage', 'channel_factor'],
  ...['header_override', 'system_prompt', 'system_prompt_override', 'bill_answered', 'cache_diagnosis'],
]);

type Saved = { readonly [Column in 'setting' | 'param_override' | 'keys_off']?: ChannelRow[Column] | undefined };

/** What is set, as text, by the name under which it is refused. */
function laterIn({ setting = '', param_override = '' }: Saved): ReadonlyMap<string, string> {
  const rules = objectIn(param_override)[operations];
  const found = Object.entries(objectIn(setting)).filter(([name, value]) => laterSettings.has(name) && isSet(value));
  return new Map([
    ...found.map(([name, value]) => [name, JSON.stringify(value)] as const),
    ...(isSet(rules ?? null) ? [[operations, JSON.stringify(rules)] as const] : []),
  ]);
}

/** @param stored undefined = the channel is new. @throws AppError channel_setting_node, channel_key_node */
export async function checkOlderNodes(database: Database, saved: Saved, stored: Saved | undefined): Promise<void> {
  const before = laterIn(stored ?? {});
  const later = [...laterIn(saved)].find(([name, text]) => before.get(name) !== text);
  if (later !== undefined) await refuseOlderNodes(database, 'channel_setting_node', { setting: later[0] });
  const off = new Set(stored?.keys_off?.split(','));
  if ((saved.keys_off ?? '').split(',').some((name) => name !== '' && !off.has(name)))
    await refuseOlderNodes(database, 'channel_key_node');
}
