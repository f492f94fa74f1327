/** What a create does when the thing is there already. */
import { AppError } from '../../server/contract/errors.ts';
import { type FlagValues, text } from '../command.ts';

const modes = ['error', 'skip', 'update'] as const;
export type WhenExists = (typeof modes)[number];

/** @throws AppError usage */
export function modeOf(flags: FlagValues, fallback: WhenExists): WhenExists {
  const given = text(flags.ifExists);
  if (given === undefined) return fallback;
  const found = modes.find((mode) => mode === given);
  if (found === undefined) throw new AppError('usage', { detail: `--if-exists ${given}: ${modes.join(', ')}` });
  return found;
}
