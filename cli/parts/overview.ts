/** The state of this gateway, as `status` prints and watches it. */
import { version } from '../../server/embedded/version.ts';
import type { Context } from '../context.ts';
import { addressOf } from './access.ts';

export async function overview(context: Context): Promise<Record<string, unknown>> {
  const found = await (await context.client()).call('status.overview');
  return { version, url: addressOf(context), data_dir: context.dataDir, ...found };
}
