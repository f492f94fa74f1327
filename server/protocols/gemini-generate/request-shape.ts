/** What is read of a generateContent request below its top, in the spelling of its documents. */
import type { Json } from '../shared/json.ts';
import { type Inner, type Shape, words } from '../shared/unread.ts';

const blob: Shape = { read: words('mimeType data fileUri displayName') };
const shownPart: Shape = {
  read: words('text thought thoughtSignature inlineData fileData functionCall functionResponse'),
  inner: {
    inlineData: blob,
    fileData: blob,
    functionCall: { read: words('id name args') },
    functionResponse: { read: words('id name response parts'), inner: { parts: part } },
  },
};

/** A part of another kind is listed as a whole. */
function part(item: Json): Shape | null {
  for (const name of shownPart.read) if (name !== 'thought' && item[name] !== undefined) return shownPart;
  return null;
}

/** Tools of other kinds are listed as wholes. */
const tool = (item: Json): Shape => ({
  read: new Set(Object.keys(item)),
  inner: {
    functionDeclarations: { read: words('name description parameters parametersJsonSchema') },
    googleSearch: { read: words('excludeDomains') },
  },
});

export const requestShape: Readonly<Record<string, Inner>> = {
  contents: { read: words('role parts'), inner: { parts: part } },
  systemInstruction: { read: words('role parts'), inner: { parts: part } },
  tools: tool,
  toolConfig: {
    read: words('functionCallingConfig'),
    inner: { functionCallingConfig: { read: words('mode allowedFunctionNames') } },
  },
  generationConfig: {
    read: words(
      'maxOutputTokens temperature topP topK stopSequences seed presencePenalty frequencyPenalty candidateCount responseSchema responseJsonSchema thinkingConfig',
    ),
    silent: {
      // With a schema it says nothing more.
      responseMimeType: ['application/json', 'text/plain'],
      responseModalities: [['TEXT'], ['Text'], ['text']],
      responseLogprobs: [false],
      audioTimestamp: [false],
    },
    inner: { thinkingConfig: { read: words('thinkingBudget thinkingLevel includeThoughts') } },
  },
};
