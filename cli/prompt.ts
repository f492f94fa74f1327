/** Reading from standard input: a whole pipe, or one line typed by a person. */
import { AppError } from '../server/contract/errors.ts';
import { continues } from './parts/secret-input.ts';

const idleMs = 30_000;

/** @returns everything, without the last line end. @throws AppError input_needed after 30 s of silence. */
export function readAll(stdin: NodeJS.ReadStream, flag: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const timer = setTimeout(() => {
      stdin.destroy();
      reject(new AppError('input_needed', { flags: `${flag} (nothing arrived on standard input)` }));
    }, idleMs);
    stdin.setEncoding('utf8');
    stdin.on('data', (chunk) => {
      text += String(chunk);
      timer.refresh();
    });
    stdin.once('end', () => {
      clearTimeout(timer);
      resolve(text.replace(/\r?\n$/, ''));
    });
    stdin.once('error', reject);
  });
}

const key = { interrupt: '\u0003', end: '\u0004', escape: '\u001b', backspace: '\u007f', back: '\b' } as const;

/** One line from a terminal; Esc and Ctrl-D give up. Hidden input shows a star per character. @param list several lines that come at once are one answer. @throws AppError cancelled */
export function askLine(
  stdin: NodeJS.ReadStream,
  screen: { write(text: string): unknown },
  question: string,
  hidden: boolean,
  list = false,
): Promise<string> {
  // First: what is pasted as soon as the question stands there must not be echoed.
  stdin.setRawMode(true);
  screen.write(question);
  stdin.setEncoding('utf8');
  stdin.resume();
  return new Promise((resolve, reject) => {
    let line = '';
    const end = () => {
      stdin.off('data', take);
      stdin.setRawMode(false);
      stdin.pause();
      screen.write('\r\n');
    };
    const take = (chunk: string | Buffer) => {
      const characters = [...String(chunk)];
      for (const [index, character] of characters.entries()) {
        if (character === key.interrupt) {
          end();
          process.exit(130);
        }
        if (character === key.end || character === key.escape) {
          end();
          return reject(new AppError('cancelled'));
        }
        if (character === '\r' || character === '\n') {
          if (continues(line) || (list && characters.slice(index).some((one) => one > ' '))) {
            line += '\n';
            continue;
          }
          end();
          return resolve(line.trimEnd());
        }
        if (character === key.backspace || character === key.back) {
          if (line !== '') screen.write('\b \b');
          line = line.slice(0, -1);
        } else if (character >= ' ') {
          line += character;
          screen.write(hidden ? '*' : character);
        }
      }
    };
    stdin.on('data', take);
  });
}
