/** What is logged, and how: said once at the start, for every thread of the process. */
import { AppError } from '../../contract/errors.ts';

export const levels = ['debug', 'info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

const formats = ['text', 'json'] as const;
export type LogFormat = (typeof formats)[number];

export interface LogSettings {
  readonly level: Level;
  readonly format: LogFormat;
  /** A line for each request that ended. */
  readonly access: boolean;
}

export const defaultLogSettings: LogSettings = { level: 'info', format: 'text', access: false };

function oneOf<T extends string>(input: string, all: readonly T[], name: string): T {
  const found = all.find((one) => one === input.toLowerCase());
  if (found === undefined) throw new AppError('usage', { detail: `${name} ${input}: ${all.join(', ')}` });
  return found;
}

export interface LogSettingsInput {
  readonly format: string | undefined;
  readonly level: string | undefined;
  readonly access: boolean;
}

/** @param flags of the command line, which win over the environment. @throws AppError usage */
export function logSettings(flags: LogSettingsInput, env: Readonly<Record<string, string | undefined>>): LogSettings {
  const format = flags.format ?? (env.GATEWAY_LOG_FORMAT || defaultLogSettings.format);
  const level = flags.level ?? (env.GATEWAY_LOG_LEVEL || defaultLogSettings.level);
  return {
    format: oneOf(format, formats, '--log-format'),
    level: oneOf(level, levels, '--log-level'),
    access: flags.access || env.GATEWAY_ACCESS_LOG === '1' || env.GATEWAY_ACCESS_LOG === 'true',
  };
}
