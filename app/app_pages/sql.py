"""Any question to the store: SQL that only looks, its rows as a table, a chart and a file."""

import streamlit as st
from investigation.address import Address
from investigation.page import is_said_empty, page_header
from investigation.scope import said_whole_store
from investigation.sql import asked, remember, result, schema_browser
from investigation.store import sql_rows, store_file

file = store_file()
page_header("SQL", purpose="Ask the store anything: the views explain themselves, and a statement can only look.")
is_said_empty(file)
said_whole_store()
address = Address("sql", ("sql", "view"))
left, right = st.columns([3, 2], gap="large")
with right:
    schema_browser(file, address)
with left:
    statement = asked(file)
    address.stop_if_refused()
    if statement:
        found = sql_rows(file, statement)
        remember(statement)
        result(found)
