/** What a create does when the thing is there already. */
import { AppError } from '../../server/contract/errors.ts';
import { type FlagValues, text } from '../command.ts';

const modes = ['error', 'skip', 'update'] as const;
export type WhenExists = (typeof modes)[number];

/** @throws AppError usage */
export function modeOf(flags: FlagValues, fallback: WhenExists): WhenExists {
  const input = text(flags.ifExists);
  if (input === undefined) return fallback;
  const found = modes.find((mode) => mode === input);
  if (found === undefined) throw new AppError('usage', { detail: `--if-exists ${input}: ${modes.join(', ')}` });
  return found;
}
