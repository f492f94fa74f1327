/** A price that is being written, as dollars and as ratios at once. */
import { useState } from 'react';
import { inputPrice, type ModelRow, outputPrice, ratioOf } from './price-maps.ts';

const numberOf = (text: string): number | null =>
  text.trim() === '' ? null : Number.isFinite(Number(text)) && Number(text) >= 0 ? Number(text) : Number.NaN;
const textOf = (value: number | null): string => (value === null ? '' : String(value));

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
    setRatio(dollarsIn === null ? '' : String(ratioOf(dollarsIn)));
    setCompletion(dollarsIn && dollarsOut !== null ? String(Number((dollarsOut / dollarsIn).toPrecision(10))) : '');
  };
  const typeRatios = (newRatio: string, newCompletion: string) => {
    setRatio(newRatio);
    setCompletion(newCompletion);
    const draft = { name, price: null, ratio: numberOf(newRatio), completion: numberOf(newCompletion) };
    setInput(draft.ratio === null ? '' : String(inputPrice(draft.ratio)));
    setOutput(draft.ratio === null ? '' : String(outputPrice(draft)));
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
