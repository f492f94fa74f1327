/** A look at the whole. */
import { AppError } from '../../../server/contract/errors.ts';
import { safeLine } from '../../../server/contract/safe-text.ts';
import { version } from '../../../server/embedded/version.ts';
import type { CommandRun } from '../../command.ts';
import type { Context } from '../../context.ts';
import { addressOf, setupLink } from '../../parts/access.ts';
import { factLines } from '../../parts/card.ts';
import { readable } from '../../parts/details.ts';

const watchMs = 1000;

async function overview(context: Context): Promise<Record<string, unknown>> {
  const client = await context.client();
  const { setup_code: code, ...found } = await client.call('status.overview');
  const url = addressOf(context);
  const link = typeof code === 'string' ? { setup_link: setupLink(url, code) } : {};
  if (context.url === '') return { version, url, data_dir: context.dataDir, ...found, ...link };
  // Neither the version of this executable nor a folder of this machine belongs to a server elsewhere.
  return { version: (await client.call('status.get')).version, url, ...found };
}

/** On a terminal: which site this is, and its figures in words. Pipes get a field a line. */
function statusLines(context: Context, value: Readonly<Record<string, unknown>>): string[] {
  const { language, output, say } = context;
  if (!output.isTty) return readable(value, { language, money: null });
  const { version: number, url, channels, channels_disabled: disabled, setup, ...others } = value;
  const off = Number(disabled ?? 0);
  return [
    safeLine(`gateway ${number}  ${url}`),
    ...factLines(
      context,
      [
        ...(setup === false ? [['setup', false] as const] : []),
        ...Object.entries(others),
        [
          'channels',
          off === 0 ? channels : say(`${channels}，其中 ${off} 个已禁用`, `${channels}, ${off} of them disabled`),
        ],
      ],
      null,
    ),
  ];
}

export const status: CommandRun = async (context, flags) => {
  if (flags.watch === true && context.screens) {
    const { watchLines } = await import('../../screens/live-lines.tsx');
    return watchLines(context, {
      load: () => overview(context),
      lines: (value) => statusLines(context, value),
      everyMs: watchMs,
    });
  }
  const value = await overview(context);
  const variables = Object.fromEntries(
    Object.entries(value).map(([name, item]) => [`GATEWAY_${name.toUpperCase()}`, String(item)]),
  );
  context.output.object(value, statusLines(context, value), version, variables);
  if (value.setup === false) context.output.note(context.say('下一步：gateway setup', 'next: gateway setup'));
  const disabled = Number(value.channels_disabled);
  if (flags.check === true && disabled > 0)
    throw new AppError('check_failed', { detail: `channels_disabled ${disabled}` });
};
