/** What nodes of an older version would do wrong while nodes are upgraded one after the other: it is not saved until they are gone. */
import type { Database } from '../../../db/open.ts';
import { nodeBefore } from '../../../db/repositories/older-node.ts';
import { keyChannels, keysOff, virtualModels } from '../../../db/schema/migrations.ts';
import { AppError } from '../../contract/errors.ts';

/** The refusal, and the first schema whose builds know of it all. Groups in order and rules came without one: the next one after them stands for both. */
const since = {
  token_channels_node: keyChannels,
  token_groups_node: keyChannels,
  virtual_model_node: virtualModels,
  channel_setting_node: keyChannels,
  request_rules_node: keyChannels,
  channel_key_node: keysOff,
} as const;

/** @throws AppError `code` with the name of a node that lives and knows nothing of it. */
export async function refuseOlderNodes(
  database: Pick<Database, 'query' | 'engine'>,
  code: keyof typeof since,
  params: Readonly<Record<string, string>> = {},
): Promise<void> {
  const name = await nodeBefore(database, since[code]);
  if (name !== undefined) throw new AppError(code, { name, ...params });
}
