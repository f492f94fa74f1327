/** Error of a move whose connection was cut: it continues when the command is run again. */
import { AppError } from '../../server/contract/errors.ts';
import { isConnectionLost } from '../postgres/failures.ts';

/** @throws AppError move_interrupted where the connection was lost; else what `work` throws. */
export async function withInterruptNote<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    throw new AppError('move_interrupted', { detail: error instanceof Error ? error.message : String(error) }, error);
  }
}
