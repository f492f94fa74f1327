/** The state of this gateway, as `status` prints and watches it. */
import { version } from '../../server/embedded/version.ts';
import type { Context } from '../context.ts';
import { addressOf, setupLink } from './access.ts';

export async function overview(context: Context): Promise<Record<string, unknown>> {
  const client = await context.client();
  const { setup_code: code, ...found } = await client.call('status.overview');
  const url = addressOf(context);
  const link = typeof code === 'string' ? { setup_link: setupLink(url, code) } : {};
  if (context.url === '') return { version, url, data_dir: context.dataDir, ...found, ...link };
  // Neither the version of this executable nor a folder of this machine belongs to a server elsewhere.
  return { version: (await client.call('status.get')).version, url, ...found };
}
