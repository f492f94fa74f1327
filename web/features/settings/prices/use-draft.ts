/** A price that is being written, as dollars and as ratios at once. */
import { useState } from 'react';
import { parseNumber } from '../../../../server/contract/amount.ts';
import { completionFor, inputPrice, type ModelRow, outputPrice, ratioOf } from './price-maps.ts';

/** Dollars per million tokens, or per request. */
export const priceBounds = { currency: 'usd', max: 1_000_000_000, maxDecimals: 8 } as const;
export const ratioBounds = { max: 1_000_000_000 } as const;

/** @returns null = empty, NaN = no number. */
const numberOf = (text: string): number | null => {
  const amount = parseNumber(text, priceBounds);
  if (amount.kind === 'value') return amount.value;
  return amount.kind === 'invalid' && amount.issue.reason === 'empty' ? null : Number.NaN;
};
const textOf = (value: number | null): string => (value === null || Number.isNaN(value) ? '' : String(value));

export type Draft = ReturnType<typeof useDraft>;

/** @param row null = a new one. */
export function useDraft(row: ModelRow | null) {
  const [name, setName] = useState(row?.name ?? '');
  const [mode, setMode] = useState<'token' | 'request'>(row !== null && row.price !== null ? 'request' : 'token');
  const [entry, setEntry] = useState<'ratio' | 'dollars'>('dollars');
  const [price, setPrice] = useState(textOf(row?.price ?? null));
  const [ratio, setRatio] = useState(textOf(row?.ratio ?? null));
  const [completion, setCompletion] = useState(textOf(row?.completion ?? null));
  const [input, setInput] = useState(row?.ratio == null ? '' : String(inputPrice(row.ratio)));
  const [output, setOutput] = useState(row?.ratio == null ? '' : String(outputPrice(row)));

  // Both spellings follow what is typed in either.
  const typeDollars = (newInput: string, newOutput: string) => {
    setInput(newInput);
    setOutput(newOutput);
    const [dollarsIn, dollarsOut] = [numberOf(newInput), numberOf(newOutput)];
    setRatio(dollarsIn === null ? '' : textOf(ratioOf(dollarsIn)));
    setCompletion(dollarsIn && dollarsOut !== null ? textOf(completionFor(dollarsIn, dollarsOut)) : '');
  };
  const typeRatios = (newRatio: string, newCompletion: string) => {
    setRatio(newRatio);
    setCompletion(newCompletion);
    const draft = { name, price: null, ratio: numberOf(newRatio), completion: numberOf(newCompletion) };
    setInput(draft.ratio === null ? '' : textOf(inputPrice(draft.ratio)));
    setOutput(draft.ratio === null ? '' : textOf(outputPrice(draft)));
  };

  const drafted: ModelRow =
    mode === 'request'
      ? { name: name.trim(), price: numberOf(price), ratio: null, completion: null }
      : { name: name.trim(), price: null, ratio: numberOf(ratio), completion: numberOf(completion) };
  return {
    name,
    setName,
    mode,
    setMode,
    entry,
    setEntry,
    price,
    setPrice,
    ratio,
    completion,
    input,
    output,
    typeDollars,
    typeRatios,
    drafted,
  };
}
