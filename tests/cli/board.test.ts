import { expect, test } from 'vitest';
import { rowLine } from '../../cli/screens/test-table.tsx';

test('results of the board stand in one column, whatever the names are written in', () => {
  const names = ['main', '主要渠道', '很长很长很长很长很长很长很长的渠道名称', 'émoji 🚀 channel'];
  const columns = names.map((name, index) => {
    const line = rowLine({ id: index, name }, { id: index, name, success: true, message: '', time: 1.5 }, true);
    return Bun.stringWidth(line.slice(0, line.indexOf('1.500 s')));
  });
  expect(new Set(columns).size).toBe(1);
});
