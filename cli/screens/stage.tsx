/** Puts a screen on the terminal and takes it down again: cursor shown, raw mode off, Ctrl-C = 130, Esc = cancelled. */
import { render, useInput } from 'ink';
import type { ReactElement, ReactNode } from 'react';
import { AppError } from '../../server/contract/errors.ts';

interface Keys {
  readonly onCancel: () => void;
  readonly onInterrupt: () => void;
  readonly children: ReactNode;
}

/** Ctrl-C and Esc, whatever is shown. */
export function Escapes({ onCancel, onInterrupt, children }: Keys) {
  useInput((input, key) => {
    if (key.ctrl && input === 'c') onInterrupt();
    else if (key.escape) onCancel();
  });
  return children;
}

export interface StageOptions {
  /** The screen is gone afterwards, what was there before comes back. */
  readonly whole?: boolean;
  /** Esc ends the screen as if it were done. */
  readonly escapeEnds?: boolean;
  /** Esc is the scene's own key. */
  readonly ownEscape?: boolean;
}

/** @param scene gets the function that ends it. @throws AppError cancelled */
export function stage<Result>(
  scene: (finish: (result: Result) => void) => ReactElement,
  { whole = false, escapeEnds = false, ownEscape = false }: StageOptions = {},
): Promise<Result | undefined> {
  const ended = Promise.withResolvers<Result | undefined>();
  // Raw mode is on before anything is drawn: keys typed at once would be echoed into the screen.
  if (process.stdin.isTTY) process.stdin.setRawMode(true);
  const drawing = render(
    <Escapes
      onCancel={() => {
        if (ownEscape) return;
        end(() => (escapeEnds ? ended.resolve(undefined) : ended.reject(new AppError('cancelled'))));
      }}
      onInterrupt={() => end(() => process.exit(130))}
    >
      {scene((result) => end(() => ended.resolve(result)))}
    </Escapes>,
    {
      ...{ exitOnCtrlC: false, patchConsole: false, interactive: true },
      // Of a whole screen that is renewed every other second few lines change; over SSH the rest would cost.
      ...{ alternateScreen: whole, incrementalRendering: whole },
    },
  );
  const end = (then: () => void): void => {
    drawing.unmount();
    void drawing.waitUntilExit().then(then, then);
  };
  return ended.promise;
}
