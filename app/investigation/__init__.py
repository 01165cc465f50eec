"""What the pages share: the store and its answers, badges and headers, the question, rows of a timeline."""

import pyarrow as pa

# Streamlit hands frames of pandas to Arrow. A server that shows these pages has told pyarrow at its start that there is
# no pandas, which spares it the import (`tracekit.cli.starting`); this conversion makes pyarrow look for it once more.
pa.array([0]).to_pandas()
