/** Signals of a server: which of them end it, how fast, and with which exit code. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';

/** 128 + its number, as shells count. */
const exitCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 128 + constants.signals.SIGHUP } as const;
type Ending = keyof typeof exitCodes;

/** Those that other servers reopen logs or read settings on. By default they would end the process in the middle of its requests. */
const ignored = ['SIGUSR1', 'SIGUSR2'] as const;

/** `nohup` and the like: who starts the server wants it to outlive the terminal. A handler would undo that. */
function isHangupIgnored(): boolean {
  try {
    const mask = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
    return (BigInt(`0x${mask}`) & (1n << BigInt(constants.signals.SIGHUP - 1))) !== 0n;
  } catch {
    // Only Linux says so; elsewhere a hang-up ends the server like the terminal's end.
    return false;
  }
}

/** With a terminal, a hang-up means that the terminal is gone. A service has none, and then a hang-up asks for a reload. */
function hasTerminal(): boolean {
  if (process.platform === 'win32') return true;
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}

export interface SignalActions {
  /** Open requests may end. */
  stop(): void;
  /** They are ended. */
  stopNow(): void;
  /** One line for the operator. */
  say(line: string): void;
}

export class ServeSignals {
  readonly #actions: SignalActions;
  #endings = 0;

  constructor(actions: SignalActions) {
    this.#actions = actions;
  }

  /** @param detached the server outlives the process that started it, as with `nohup`. */
  listen(detached: boolean): void {
    process.on('SIGINT', this.#end);
    process.on('SIGTERM', this.#end);
    if (!isHangupIgnored()) process.on('SIGHUP', hasTerminal() && !detached ? this.#end : this.#goOn);
    for (const signal of ignored) if (Object.hasOwn(constants.signals, signal)) process.on(signal, this.#goOn);
  }

  readonly #goOn = (signal: NodeJS.Signals): void => {
    this.#actions.say(`${signal}: nothing to reload; settings act at once, and logs go to standard error`);
  };

  readonly #end = (signal: NodeJS.Signals): void => {
    this.#endings++;
    const code = exitCodes[signal as Ending];
    // The third waits for nothing.
    if (this.#endings > 2) process.exit(code);
    if (this.#endings === 2) {
      process.exitCode = code;
      this.#actions.stopNow();
      return;
    }
    // This was no requested stop: a supervisor shall start it again.
    if (signal === 'SIGHUP') process.exitCode = code;
    this.#actions.stop();
  };
}
