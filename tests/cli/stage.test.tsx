/** Screens that fill the window, while the window changes. */
import { Text, useWindowSize } from 'ink';
import { expect, test } from 'vitest';
import { stage } from '../../cli/screens/stage.tsx';
import { drawnTerminal } from './drawn.ts';

function Lines() {
  const { columns, rows } = useWindowSize();
  const names = Array.from({ length: rows - 2 }, (_, at) => `line ${at}`);
  return <Text>{[...names, `${columns}x${rows}`].join('\n')}</Text>;
}

test('a screen stands whole after the window became lower, higher, narrower and wider', async () => {
  const drawn = drawnTerminal({ columns: 60, rows: 20 });
  try {
    let leave: () => void = () => undefined;
    const ended = stage<void>(
      (finish) => {
        leave = () => finish();
        return <Lines />;
      },
      { whole: true },
    );
    expect((await drawn.until('60x20')).length).toBe(19);
    for (const [columns, rows] of [
      [60, 12],
      [60, 18],
      [40, 18],
      [70, 9],
      [70, 20],
    ] as const) {
      drawn.resize(columns, rows);
      const shown = await drawn.until(`${columns}x${rows}`);
      expect(shown).toEqual([...Array.from({ length: rows - 2 }, (_, at) => `line ${at}`), `${columns}x${rows}`]);
    }
    leave();
    await ended;
  } finally {
    drawn.close();
  }
});
