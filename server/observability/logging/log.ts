/** One line per event: a level, a message, facts; as text for people or JSON for programs. What strangers wrote in it cannot turn a terminal or a line. */
import { safeJson, safeLine } from '../../contract/safe-text.ts';
import { type Level, type LogSettings, levels } from './settings.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export interface Log {
  /** Whether lines of this level are written at all: for facts that cost something to gather. */
  isEnabled(level: Level): boolean;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** @param write is given whole lines. @param now epoch milliseconds. */
export function createLog(settings: LogSettings, write: (line: string) => void, now: () => number): Log {
  const min = levels.indexOf(settings.level);
  const isEnabled = (level: Level): boolean => levels.indexOf(level) >= min;
  const lineOf = settings.format === 'json' ? jsonLine : textLine;
  const at =
    (level: Level) =>
    (message: string, fields: LogFields = {}) => {
      if (isEnabled(level)) write(`${lineOf(level, new Date(now()).toISOString(), message, fields)}\n`);
    };
  return { isEnabled, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

const jsonLine = (level: Level, time: string, message: string, fields: LogFields): string =>
  safeJson({ level, at: time, message, ...fields });

const quotable = /[\s"=]/;
function textValue(value: LogFields[string]): string {
  const text = safeLine(String(value));
  return text === '' || quotable.test(text) ? JSON.stringify(text) : text;
}

function textLine(level: Level, time: string, message: string, fields: LogFields): string {
  const parts = Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => ` ${name}=${textValue(value)}`);
  return `${time} ${level.toUpperCase().padEnd(5)} ${safeLine(message)}${parts.join('')}`;
}

/** Lines together instead of one by one; what is too much at once is left out. @param later runs its argument some time later. @param cut the line that says how many are missing. */
export function flattened(
  write: (text: string) => void,
  later: (run: () => void) => void,
  cut: (missing: number) => string,
): (line: string) => void {
  let lines: string[] = [];
  let dropped = 0;
  const flush = () => {
    const text = lines.join('');
    const note = dropped === 0 ? '' : cut(dropped);
    lines = [];
    dropped = 0;
    write(text + note);
  };
  return (line) => {
    if (lines.length >= maxBatchBytes) {
      dropped++;
      return;
    }
    lines.push(line);
    if (lines.length === 1) later(flush);
  };
}

const maxBatchBytes = 20_000;
