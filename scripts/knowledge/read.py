"""Prints what three packages know of models, as one JSON object. Python is needed here and nowhere else.

usage: read.py FOLDER PAIRS
FOLDER holds the wheel of litellm and the unpacked archive of codex; genai_prices can be imported.
PAIRS: JSON, provider of litellm -> [provider of genai_prices, prefix of the name there].
"""

import dataclasses
import datetime
import decimal
import glob
import json
import os
import sys
import zipfile

import genai_prices
from genai_prices.data import providers

folder, pairs = sys.argv[1], json.loads(sys.argv[2])


def plain(value):
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (datetime.date, datetime.time, datetime.datetime)):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    members = (
        {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        if dataclasses.is_dataclass(value)
        else vars(value)
    )
    return {key: plain(item) for key, item in members.items() if not key.startswith('_') and item is not None}


def codex(root):
    """The list lies as JSON text inside the program."""
    for path in sorted(glob.glob(os.path.join(root, '**', 'codex'), recursive=True), key=os.path.getsize, reverse=True):
        if not os.path.isfile(path):
            continue
        with open(path, 'rb') as file:
            program = file.read()
        at = program.find(b'"supported_reasoning_levels"')
        start = program.rfind(b'{', 0, program.rfind(b'"models": [', 0, at))
        text = program[start : start + 4_000_000].decode('utf8', 'ignore')
        return json.JSONDecoder().raw_decode(text)[0]['models']
    raise SystemExit('no list of models in the codex package')


wheel = zipfile.ZipFile(glob.glob(os.path.join(folder, 'litellm-*.whl'))[0])
rows = json.loads(wheel.read('litellm/model_prices_and_context_window_backup.json'))
del rows['sample_spec']
by_id = {provider.id: provider for provider in providers}
matches = {}
for name, row in rows.items():
    genai, prefix = pairs.get(row.get('litellm_provider'), (None, ''))
    if genai not in by_id:
        continue
    bare = name[len(prefix) :] if name.startswith(prefix) else name
    found = by_id[genai].find_model(bare)
    if found is not None:
        matches[name] = found.id

json.dump(
    {
        'versions': {'litellm': wheel.filename.split('/')[-1].split('-')[1], 'genai-prices': genai_prices.__version__},
        'litellm': rows,
        'genai': {provider.id: [plain(model) for model in provider.models] for provider in providers},
        'matches': matches,
        'codex': codex(folder),
    },
    sys.stdout,
)
