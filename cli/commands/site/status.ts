/** A look at the whole. */
import { AppError } from '../../../server/contract/errors.ts';
import { version } from '../../../server/embedded/version.ts';
import type { CommandRun } from '../../command.ts';
import { readable } from '../../parts/details.ts';
import { overview } from '../../parts/overview.ts';

const watchMs = 1000;

export const status: CommandRun = async (context, flags) => {
  if (flags.watch === true && context.screens) {
    const { watchLines } = await import('../../screens/live-lines.tsx');
    const facts = { language: context.language, money: null };
    return watchLines(context, {
      load: () => overview(context),
      lines: (value) => readable(value, facts),
      everyMs: watchMs,
    });
  }
  const value = await overview(context);
  const variables = Object.fromEntries(
    Object.entries(value).map(([name, item]) => [`GATEWAY_${name.toUpperCase()}`, String(item)]),
  );
  context.output.object(value, readable(value, { language: context.language, money: null }), version, variables);
  if (value.setup === false) context.output.note(context.say('下一步：gateway setup', 'next: gateway setup'));
  const disabled = Number(value.channels_disabled);
  if (flags.check === true && disabled > 0)
    throw new AppError('check_failed', { detail: `channels_disabled ${disabled}` });
};
